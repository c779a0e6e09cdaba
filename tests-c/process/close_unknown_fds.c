/*
 * An application that closes every descriptor it does not know. Its own numbers are as without the guard.
 *
 * expect: none
 */
#include "../common/trace.h"

int main(void)
{
	struct ibv_context *context = open_device();
	struct ibv_pd *pd = alloc_pd(context);
	int high = 0;

	for (int fd = 3; fd < 1024; fd++)
		if (fd != context->cmd_fd && fd != context->async_fd)
			close(fd);
	INT(ibv_dealloc_pd(pd));
	for (int i = 0; i < 8; i++)
		high = INT(open("/dev/null", O_RDONLY | O_CLOEXEC));
	MUST(high < 64);
	INT(ibv_close_device(context));
	return 0;
}
