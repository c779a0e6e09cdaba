/*
 * A second namespace: its libraries never see what is preloaded.
 *
 * expect: error null-argument in ibv_unimport_pd (pd) refused
 * expect: error null-argument in mlx5dv_devx_umem_dereg (umem) refused
 */
#include "lookup.h"

int main(void)
{
	void *mlx5 = dlmopen(LM_ID_NEWLM, "libmlx5.so.1", RTLD_NOW);

	MUST(mlx5);
	ASK(unimport_pd_function, mlx5, "ibv_unimport_pd")(NULL);
	ASK(umem_dereg_function, mlx5, "mlx5dv_devx_umem_dereg")(NULL);
	return 0;
}
