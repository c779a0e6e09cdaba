/*
 * Descriptor 2 is the program's own data file: the guard writes nothing into it.
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
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct stat data;
	int fd = mkstemp(name);

	MUST(fd >= 0 && unlink(name) == 0);
	MUST(dup2(fd, 2) == 2 && close(fd) == 0);
	context = open_device();
	pd = alloc_pd(context);
	INT(ibv_dealloc_pd(pd));
	INT(ibv_dealloc_pd(pd));
	MUST(fstat(2, &data) == 0 && data.st_size == 0);
	INT(ibv_close_device(context));
	return 0;
}
