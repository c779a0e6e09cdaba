/*
 * Two references to one PD, each released once.
 *
 * nearly: pd-released-twice
 * expect: none
 */
#include "../common/trace.h"

int main(void)
{
	struct ibv_context *context = open_device();
	struct ibv_pd *pd = alloc_pd(context);
	struct ibv_pd *first = import_pd(context, pd->handle);
	struct ibv_pd *second = import_pd(context, pd->handle);

	VOID(ibv_unimport_pd(first));
	VOID(ibv_unimport_pd(second));
	INT(ibv_dealloc_pd(pd));
	INT(ibv_close_device(context));
	return 0;
}
