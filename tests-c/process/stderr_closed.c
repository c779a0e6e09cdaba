/*
 * No descriptor 2 at all. The text log goes nowhere, and nothing breaks.
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

	close(2);
	context = open_device();
	pd = alloc_pd(context);
	INT(ibv_dealloc_pd(pd));
	INT(ibv_dealloc_pd(pd));
	INT(ibv_close_device(context));
	return 0;
}
