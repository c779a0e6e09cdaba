/*
 * Legal 8: a forked child that opens a context of its own and imports into it what it finds there.
 *
 * expect: none
 */
#include "../common/trace.h"

static void own(struct ibv_context *inherited)
{
	struct ibv_context *context = open_device();
	struct ibv_pd *pd = alloc_pd(context);

	(void)inherited;
	VOID(ibv_unimport_pd(import_pd(context, pd->handle)));
	INT(ibv_dealloc_pd(pd));
	INT(ibv_close_device(context));
}

int main(void)
{
	struct ibv_context *context = open_device();
	struct ibv_pd *pd = alloc_pd(context);

	MUST(in_child(own, context) == 0);
	INT(ibv_dealloc_pd(pd));
	INT(ibv_close_device(context));
	return 0;
}
