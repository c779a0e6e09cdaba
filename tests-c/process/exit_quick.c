/*
 * quick_exit runs no exit code of ours.
 *
 * expect: error pd-released-twice in ibv_dealloc_pd (pd) refused
 * exit: 0
 * parity: no, the second call reads and frees the struct again
 */
#include "../common/trace.h"

int main(void)
{
	struct ibv_context *context = open_device();
	struct ibv_pd *pd = alloc_pd(context);

	INT(ibv_dealloc_pd(pd));
	INT(ibv_dealloc_pd(pd));
	fflush(stdout);
	quick_exit(0);
	return 0;
}
