/*
 * The descriptors that a program sees are numbered as without the guard.
 *
 * expect: none
 */
#include "../common/trace.h"

int main(void)
{
	struct ibv_context *context;
	int before = INT(open("/dev/null", O_RDONLY)), after;

	context = open_device();
	printf("cmd_fd %d, async_fd %d\n", context->cmd_fd, context->async_fd);
	after = INT(open("/dev/null", O_RDONLY));
	MUST(before < after);
	INT(ibv_dealloc_pd(alloc_pd(context)));
	INT(open("/dev/null", O_RDONLY));
	INT(ibv_close_device(context));
	INT(open("/dev/null", O_RDONLY));
	return 0;
}
