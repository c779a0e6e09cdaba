/*
 * A destroy of what is destroyed already: harmless while the number is free, the right call is unimport.
 *
 * expect: warning pd-destroyed-elsewhere in ibv_dealloc_pd (pd) forwarded
 */
#include "../common/trace.h"

int main(void)
{
	struct ibv_context *context = open_device();
	struct ibv_pd *pd = alloc_pd(context);
	struct ibv_pd *imported = import_pd(context, pd->handle);

	MUST(INT(ibv_dealloc_pd(imported)) == 0);
	MUST(INT(ibv_dealloc_pd(pd)) == ENOENT);
	VOID(ibv_unimport_pd(pd));
	INT(ibv_close_device(context));
	return 0;
}
