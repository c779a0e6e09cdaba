/*
 * No device file has that handle: nothing can be said but what the kernel said.
 *
 * nearly: pd-handle-foreign
 * expect: none
 */
#include "../common/trace.h"

int main(void)
{
	struct ibv_context *here = open_device();
	struct ibv_context *there = open_device();
	struct ibv_pd *pd = alloc_pd(there);

	MUST(!PTR(ibv_import_pd(here, pd->handle + 100000)));
	INT(ibv_dealloc_pd(pd));
	INT(ibv_close_device(there));
	INT(ibv_close_device(here));
	return 0;
}
