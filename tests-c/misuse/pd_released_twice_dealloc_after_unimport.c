/*
 * expect: error pd-released-twice in ibv_dealloc_pd (pd) refused
 * parity: no, the second call reads and frees the struct again
 */
#include "../common/trace.h"

int main(void)
{
	struct ibv_context *context = open_device();
	struct ibv_pd *pd = alloc_pd(context);
	struct ibv_pd *imported = import_pd(context, pd->handle);

	VOID(ibv_unimport_pd(imported));
	MUST(INT(ibv_dealloc_pd(imported)) == EINVAL);
	INT(ibv_dealloc_pd(pd));
	INT(ibv_close_device(context));
	return 0;
}
