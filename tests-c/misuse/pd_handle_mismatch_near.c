/*
 * A PD that the guard did not see being allocated: nothing is recorded that could differ.
 *
 * nearly: pd-handle-mismatch
 * expect: none
 * run: --audit=off
 */
#include "../common/trace.h"

#include "../common/unguarded.h"

int main(void)
{
	struct ibv_context *context = open_device();
	struct ibv_pd *unseen = unguarded_alloc_pd(context);

	MUST(unseen);
	VOID(ibv_unimport_pd(import_pd(context, unseen->handle)));
	MUST(unguarded_dealloc_pd(unseen) == 0);
	INT(ibv_close_device(context));
	return 0;
}
