/*
 * The PD was destroyed through another reference; this one may only be unimported now.
 *
 * expect: note pd-destroyed-while-shared in ibv_dealloc_pd forwarded
 * expect: error pd-used-after-destroy in ibv_reg_mr (pd) forwarded
 */
#include "../common/trace.h"

int main(void)
{
	struct ibv_context *context = open_device();
	struct ibv_pd *pd = alloc_pd(context);
	struct ibv_pd *imported = import_pd(context, pd->handle);

	MUST(INT(ibv_dealloc_pd(pd)) == 0);
	MUST(!PTR(ibv_reg_mr(imported, buffer, PAGE, 1)));
	VOID(ibv_unimport_pd(imported));
	INT(ibv_close_device(context));
	return 0;
}
