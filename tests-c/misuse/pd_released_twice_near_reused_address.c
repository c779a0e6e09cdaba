/*
 * The struct's memory comes back for the next import: the same address, another reference.
 *
 * nearly: pd-released-twice
 * expect: none
 */
#include "../common/trace.h"

int main(void)
{
	struct ibv_context *context = open_device();
	struct ibv_pd *pd = alloc_pd(context);

	for (int i = 0; i < 3; i++) {
		struct ibv_pd *imported = import_pd(context, pd->handle);

		VOID(ibv_unimport_pd(imported));
	}
	INT(ibv_dealloc_pd(pd));
	INT(ibv_close_device(context));
	return 0;
}
