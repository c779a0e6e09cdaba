/*
 * Libraries that the program keeps to itself (RTLD_LOCAL), asked by plain dlsym.
 *
 * expect: error null-argument in ibv_unimport_pd (pd) refused
 * expect: error null-argument in mlx5dv_devx_umem_dereg (umem) refused
 */
#include "lookup.h"

int main(void)
{
	void *verbs = open_library("libibverbs.so.1", RTLD_NOW | RTLD_LOCAL);
	void *mlx5 = open_library("libmlx5.so.1", RTLD_LAZY | RTLD_LOCAL);

	ASK(unimport_pd_function, verbs, "ibv_unimport_pd")(NULL);
	MUST(ASK(umem_dereg_function, mlx5, "mlx5dv_devx_umem_dereg")(NULL) == EINVAL);
	/* libmlx5 needs libibverbs, so it answers for it too. */
	ASK(unimport_pd_function, mlx5, "ibv_unimport_pd");
	MUST(is_real(dlsym(verbs, "ibv_get_device_list")));
	MUST(!dlsym(verbs, "ibv_no_such_call"));
	return 0;
}
