/*
 * nearly: pd-destroyed-elsewhere
 * expect: none
 */
#include "../common/trace.h"

int main(void)
{
	struct ibv_context *context = open_device();
	struct ibv_pd *pd = alloc_pd(context);

	VOID(ibv_unimport_pd(import_pd(context, pd->handle)));
	MUST(INT(ibv_dealloc_pd(pd)) == 0);
	INT(ibv_close_device(context));
	return 0;
}
