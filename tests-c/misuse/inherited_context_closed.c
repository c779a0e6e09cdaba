/*
 * A forked child closes the context that it inherited.
 *
 * expect: warning inherited-context-closed in ibv_close_device (context) forwarded
 */
#include "../common/trace.h"

static void close_it(struct ibv_context *context)
{
	INT(ibv_close_device(context));
}

int main(void)
{
	struct ibv_context *context = open_device();

	MUST(in_child(close_it, context) == 0);
	return 0;
}
