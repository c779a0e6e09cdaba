/*
 * Copies that a wheel brings along, under names of their own.
 *
 * expect: error null-argument in ibv_unimport_pd (pd) refused
 * expect: error null-argument in mlx5dv_devx_umem_dereg (umem) refused
 */
#include "lookup.h"

int main(void)
{
	void *verbs = open_library("./libibverbs-1.so", RTLD_NOW);
	void *mlx5 = open_library("./libmlx5-1.so", RTLD_NOW);

	MUST(is_in(dlsym(verbs, "ibv_get_device_list"), "libibverbs-1.so"));
	MUST(is_in(dlsym(mlx5, "mlx5dv_query_device"), "libmlx5-1.so"));
	ASK(unimport_pd_function, verbs, "ibv_unimport_pd")(NULL);
	MUST(ASK(umem_dereg_function, mlx5, "mlx5dv_devx_umem_dereg")(NULL) == EINVAL);
	return 0;
}
