/*
 * options: mode=abort
 * expect: error pd-released-twice in ibv_unimport_pd (pd) aborted
 * exit: SIGABRT
 * parity: no, the second call frees the struct again
 */
#include "../common/trace.h"

int main(void)
{
	struct ibv_context *context = open_device();
	struct ibv_pd *pd = alloc_pd(context);
	struct ibv_pd *imported = import_pd(context, pd->handle);

	VOID(ibv_unimport_pd(imported));
	VOID(ibv_unimport_pd(imported));
	return 0;
}
