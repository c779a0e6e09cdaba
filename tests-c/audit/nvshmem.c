/*
 * As NVSHMEM does: linked with libmlx5, and verbs asked by plain dlsym.
 *
 * expect: error null-argument in ibv_dealloc_pd (pd) refused
 * expect: error null-argument in mlx5dv_devx_umem_dereg (umem) refused
 * links: mlx5
 */
#include "lookup.h"

int main(void)
{
	void *verbs = open_library("libibverbs.so.1", RTLD_LAZY);

	guards((void *)mlx5dv_devx_umem_reg);
	MUST(mlx5dv_devx_umem_dereg(NULL) == EINVAL);
	MUST(ASK(dealloc_pd_function, verbs, "ibv_dealloc_pd")(NULL) == EINVAL);
	return 0;
}
