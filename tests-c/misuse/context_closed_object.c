/*
 * A PD outlives its context, and is then released: the release reads the context.
 *
 * expect: warning reference-lost in ibv_close_device
 * expect: error context-closed in ibv_unimport_pd (pd) refused
 * parity: no, the real library reads freed memory
 */
#include "../common/trace.h"

int main(void)
{
	struct ibv_context *context = open_device();
	struct ibv_pd *pd = alloc_pd(context);

	INT(ibv_close_device(context));
	VOID(ibv_unimport_pd(pd));
	return 0;
}
