/*
 * Legal 8: a forked child that executes another program.
 *
 * expect: none
 */
#include "../common/trace.h"

static void execute(struct ibv_context *context)
{
	(void)context;
	execl("/bin/true", "true", (char *)NULL);
	_exit(99);
}

int main(void)
{
	struct ibv_context *context = open_device();
	struct ibv_pd *pd = alloc_pd(context);

	MUST(in_child(execute, context) == 0);
	INT(ibv_dealloc_pd(pd));
	INT(ibv_close_device(context));
	return 0;
}
