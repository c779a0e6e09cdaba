/*
 * A killed process has testified.
 *
 * expect: error pd-released-twice in ibv_dealloc_pd (pd) refused
 * exit: SIGKILL
 * parity: no, the second call reads and frees the struct again
 */
#include "../common/trace.h"

#include <signal.h>

int main(void)
{
	struct ibv_context *context = open_device();
	struct ibv_pd *pd = alloc_pd(context);

	INT(ibv_dealloc_pd(pd));
	INT(ibv_dealloc_pd(pd));
	fflush(stdout);
	raise(SIGKILL);
	return 0;
}
