/*
 * Calls that name a context after it was closed.
 *
 * expect: error context-closed in ibv_alloc_pd (context) refused
 * expect: error context-closed in ibv_import_pd (context) refused
 * expect: error context-closed in mlx5dv_devx_umem_reg (ctx) refused
 * parity: no, the real library reads freed memory
 */
#include "../common/trace.h"

int main(void)
{
	struct ibv_context *context = open_device();

	INT(ibv_close_device(context));
	MUST(!PTR(ibv_alloc_pd(context)) && errno == EINVAL);
	MUST(!PTR(ibv_import_pd(context, 1)) && errno == EINVAL);
	MUST(!PTR(mlx5dv_devx_umem_reg(context, buffer, PAGE, 1)) && errno == EINVAL);
	return 0;
}
