/*
 * The handle's PD is gone and its number is free.
 *
 * expect: error pd-handle-stale in ibv_import_pd (pd_handle) forwarded
 */
#include "../common/trace.h"

int main(void)
{
	struct ibv_context *context = open_device();
	struct ibv_pd *pd = alloc_pd(context);
	uint32_t handle = pd->handle;

	INT(ibv_dealloc_pd(pd));
	MUST(!PTR(ibv_import_pd(context, handle)));
	INT(ibv_close_device(context));
	return 0;
}
