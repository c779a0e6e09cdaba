/*
 * expect: note import-of-own in ibv_import_pd (pd_handle) forwarded
 */
#include "../common/trace.h"

int main(void)
{
	struct ibv_context *context = open_device();
	struct ibv_pd *pd = alloc_pd(context);

	VOID(ibv_unimport_pd(import_pd(context, pd->handle)));
	INT(ibv_dealloc_pd(pd));
	INT(ibv_close_device(context));
	return 0;
}
