/*
 * Legal 8: a forked child that does nothing but exit, with objects that it inherited.
 *
 * expect: none
 */
#include "../common/trace.h"

static void nothing(struct ibv_context *context)
{
	(void)context;
}

int main(void)
{
	struct ibv_context *context = open_device();
	struct ibv_pd *pd = alloc_pd(context);
	struct ibv_pd *imported = import_pd(context, pd->handle);

	MUST(in_child(nothing, context) == 0);
	VOID(ibv_unimport_pd(imported));
	INT(ibv_dealloc_pd(pd));
	INT(ibv_close_device(context));
	return 0;
}
