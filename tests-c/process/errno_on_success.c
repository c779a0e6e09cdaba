/*
 * A successful call leaves errno as the real library does.
 *
 * expect: none
 */
#include "../common/trace.h"

int main(void)
{
	struct ibv_context *context = open_device();
	struct ibv_pd *pd = alloc_pd(context);
	struct ibv_pd *imported = import_pd(context, pd->handle);
	struct ibv_mr *mr = reg_mr(imported);
	struct mlx5dv_devx_umem *umem = reg_umem(context);

	errno = 77;
	ibv_dereg_mr(mr);
	printf("dereg_mr leaves %d\n", errno);
	errno = 77;
	ibv_unimport_pd(imported);
	printf("unimport_pd leaves %d\n", errno);
	MUST(errno == 77);
	errno = 77;
	ibv_dealloc_pd(pd);
	printf("dealloc_pd leaves %d\n", errno);
	errno = 77;
	mlx5dv_devx_umem_dereg(umem);
	printf("umem_dereg leaves %d\n", errno);
	errno = 77;
	ibv_close_device(context);
	printf("close_device leaves %d\n", errno);
	return 0;
}
