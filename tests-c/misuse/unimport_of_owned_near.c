/*
 * A hand-over: another reference holds the PD and destroys it.
 *
 * nearly: unimport-of-owned
 * expect: note unimport-of-owned in ibv_unimport_pd (pd) forwarded
 */
#include "../common/trace.h"

int main(void)
{
	struct ibv_context *context = open_device();
	struct ibv_pd *pd = alloc_pd(context);
	struct ibv_pd *imported = import_pd(context, pd->handle);

	VOID(ibv_unimport_pd(pd));
	MUST(INT(ibv_dealloc_pd(imported)) == 0);
	INT(ibv_close_device(context));
	return 0;
}
