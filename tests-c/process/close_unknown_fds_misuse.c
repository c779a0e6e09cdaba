/*
 * The same, and a finding afterwards: the log is found again.
 *
 * expect: error pd-released-twice in ibv_dealloc_pd (pd) refused
 * parity: no, the second call reads and frees the struct again
 */
#include "../common/trace.h"

int main(void)
{
	struct ibv_context *context = open_device();
	struct ibv_pd *pd = alloc_pd(context);

	for (int fd = 3; fd < 1024; fd++)
		if (fd != context->cmd_fd && fd != context->async_fd)
			close(fd);
	for (int i = 0; i < 8; i++)
		INT(open("/dev/null", O_RDONLY | O_CLOEXEC));
	INT(ibv_dealloc_pd(pd));
	INT(ibv_dealloc_pd(pd));
	INT(ibv_close_device(context));
	return 0;
}
