/*
 * A provider that shares nothing: it refuses each import, and what it has besides goes its usual way.
 *
 * expect: none
 * expect: no note provider-lacks
 */
#include "rxe.h"

int main(void)
{
	struct ibv_context *context = open_rxe();
	struct ibv_pd *pd = alloc_pd(context);
	struct ibv_mr *mr = reg_mr(pd);
	int fd = dup(context->cmd_fd);

	MUST(!PTR(ibv_import_device(fd)) && errno == EOPNOTSUPP);
	MUST(!PTR(ibv_import_pd(context, pd->handle)) && errno == EOPNOTSUPP);
	MUST(!PTR(mlx5dv_devx_umem_reg(context, buffer, sizeof(buffer), 0)) && errno == EOPNOTSUPP);
	MUST(close(fd) == 0);
	INT(ibv_dealloc_pd(pd));
	MUST(INT(ibv_dereg_mr(mr)) == 0);
	MUST(INT(ibv_dealloc_pd(pd)) == 0);
	MUST(INT(ibv_close_device(context)) == 0);
	return 0;
}
