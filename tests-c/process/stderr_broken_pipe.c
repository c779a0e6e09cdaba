/*
 * Descriptor 2 is a pipe that nobody reads: no SIGPIPE comes to the program.
 *
 * log: stderr
 * exit: 23
 * parity: no, the second call reads and frees the struct again
 */
#include "../common/trace.h"

int main(void)
{
	struct ibv_context *context;
	struct ibv_pd *pd;
	int pipes[2];

	MUST(pipe(pipes) == 0 && dup2(pipes[1], 2) == 2);
	close(pipes[0]);
	close(pipes[1]);
	context = open_device();
	pd = alloc_pd(context);
	INT(ibv_dealloc_pd(pd));
	INT(ibv_dealloc_pd(pd));
	INT(ibv_close_device(context));
	return 0;
}
