/*
 * Everything is released before its context is closed.
 *
 * nearly: reference-lost
 * expect: none
 */
#include "../common/trace.h"

int main(void)
{
	struct ibv_context *context = open_device();
	struct ibv_context *other = share(context);
	struct ibv_pd *pd = alloc_pd(context);

	VOID(ibv_unimport_pd(import_pd(other, pd->handle)));
	INT(ibv_close_device(other));
	INT(ibv_dealloc_pd(pd));
	INT(ibv_close_device(context));
	return 0;
}
