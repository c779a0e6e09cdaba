/*
 * A memory region made through this very reference lives on: it can still be freed, but nobody may use its PD.
 *
 * expect: warning pd-unimport-busy in ibv_unimport_pd (pd) forwarded
 */
#include "../common/trace.h"

int main(void)
{
	struct ibv_context *context = open_device();
	struct ibv_pd *pd = alloc_pd(context);
	struct ibv_pd *imported = import_pd(context, pd->handle);
	struct ibv_mr *mr = reg_mr(imported);

	VOID(ibv_unimport_pd(imported));
	MUST(INT(ibv_dereg_mr(mr)) == 0);
	MUST(INT(ibv_dealloc_pd(pd)) == 0);
	INT(ibv_close_device(context));
	return 0;
}
