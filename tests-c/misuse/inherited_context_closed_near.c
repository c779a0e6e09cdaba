/*
 * A forked child closes a context of its own.
 *
 * nearly: inherited-context-closed
 * expect: none
 */
#include "../common/trace.h"

static void use_own(struct ibv_context *inherited)
{
	struct ibv_context *context = open_device();

	(void)inherited;
	INT(ibv_dealloc_pd(alloc_pd(context)));
	INT(ibv_close_device(context));
}

int main(void)
{
	struct ibv_context *context = open_device();

	MUST(in_child(use_own, context) == 0);
	INT(ibv_close_device(context));
	return 0;
}
