/*
 * Descriptor 2 becomes the program's data file after the first verbs call.
 *
 * log: stderr
 * exit: 23
 * parity: no, the second call reads and frees the struct again
 */
#include "../common/trace.h"

#include <sys/stat.h>

int main(void)
{
	char name[] = "data-XXXXXX";
	struct ibv_context *context = open_device();
	struct ibv_pd *pd = alloc_pd(context);
	struct stat data;
	int fd = mkstemp(name);

	MUST(fd >= 0 && unlink(name) == 0);
	for (int other = 2; other < 256; other++)
		if (other != fd && other != context->cmd_fd && other != context->async_fd)
			close(other);
	MUST(dup2(fd, 2) == 2);
	INT(ibv_dealloc_pd(pd));
	INT(ibv_dealloc_pd(pd));
	MUST(fstat(2, &data) == 0 && data.st_size == 0);
	INT(ibv_close_device(context));
	return 0;
}
