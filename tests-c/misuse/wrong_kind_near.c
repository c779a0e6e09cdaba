/*
 * Every object to its own call; the addresses come back for objects of other kinds.
 *
 * nearly: wrong-kind
 * expect: none
 */
#include "../common/trace.h"

int main(void)
{
	struct ibv_context *context = open_device();

	for (int i = 0; i < 3; i++) {
		struct ibv_pd *pd = alloc_pd(context);
		struct ibv_mr *mr = reg_mr(pd);
		struct mlx5dv_devx_umem *umem = reg_umem(context);

		INT(ibv_dereg_mr(mr));
		INT(ibv_dealloc_pd(pd));
		INT(mlx5dv_devx_umem_dereg(umem));
	}
	INT(ibv_close_device(context));
	return 0;
}
