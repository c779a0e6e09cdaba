/*
 * A handle is a number of one device file; here it is given to a context of another one.
 *
 * expect: error pd-handle-foreign in ibv_import_pd (pd_handle) forwarded
 */
#include "../common/trace.h"

int main(void)
{
	struct ibv_context *here = open_device();
	struct ibv_context *there = open_device();
	struct ibv_pd *pd = alloc_pd(there);

	MUST(!PTR(ibv_import_pd(here, pd->handle)));
	INT(ibv_dealloc_pd(pd));
	INT(ibv_close_device(there));
	INT(ibv_close_device(here));
	return 0;
}
