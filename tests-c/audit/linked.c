/*
 * A program that is linked with rdma-core: the auditor changes nothing.
 *
 * expect: error null-argument in ibv_unimport_pd (pd) refused
 * expect: error null-argument in mlx5dv_devx_umem_dereg (umem) refused
 * links: mlx5 ibverbs
 * unaudited: passes
 */
#include "lookup.h"

int main(void)
{
	guards((void *)ibv_import_pd);
	ibv_unimport_pd(NULL);
	MUST(mlx5dv_devx_umem_dereg(NULL) == EINVAL);
	return 0;
}
