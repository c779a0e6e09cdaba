/*
 * expect: error pd-used-after-release in ibv_reg_mr (pd) refused
 * expect: error pd-used-after-release in ibv_reg_mr_iova (pd) refused
 * expect: error pd-used-after-release in ibv_reg_mr_iova2 (pd) refused
 * expect: error pd-used-after-release in ibv_import_mr (pd) refused
 * parity: no, the real library reads freed memory
 */
#include "../common/trace.h"

int main(void)
{
	struct ibv_context *context = open_device();
	struct ibv_pd *pd = alloc_pd(context);
	struct ibv_pd *imported = import_pd(context, pd->handle);

	VOID(ibv_unimport_pd(imported));
	MUST(!PTR(ibv_reg_mr(imported, buffer, PAGE, 1)) && errno == EINVAL);
	MUST(!PTR(ibv_reg_mr_iova(imported, buffer, PAGE, 0, 1)) && errno == EINVAL);
	MUST(!PTR(ibv_reg_mr_iova2(imported, buffer, PAGE, 0, 1)) && errno == EINVAL);
	MUST(!PTR(ibv_import_mr(imported, 1)) && errno == EINVAL);
	INT(ibv_dealloc_pd(pd));
	INT(ibv_close_device(context));
	return 0;
}
