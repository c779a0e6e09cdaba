/*
 * The number is a new PD's: the import is right, whoever it was meant for.
 *
 * nearly: pd-handle-stale
 * expect: none
 */
#include "../common/trace.h"

int main(void)
{
	struct ibv_context *context = open_device();
	struct ibv_pd *pd = alloc_pd(context), *imported;
	uint32_t handle = pd->handle;

	INT(ibv_dealloc_pd(pd));
	pd = alloc_pd(context);
	imported = import_pd(context, handle);
	VOID(ibv_unimport_pd(imported));
	INT(ibv_dealloc_pd(pd));
	INT(ibv_close_device(context));
	return 0;
}
