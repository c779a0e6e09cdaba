/*
 * A finding in a destructor is reported too, and counts for the exit status.
 *
 * expect: error pd-released-twice in ibv_dealloc_pd (pd) refused
 * parity: no, the second call reads and frees the struct again
 */
#include "../common/trace.h"

static struct ibv_context *context;
static struct ibv_pd *pd;

__attribute__((destructor)) static void destructor(void)
{
	INT(ibv_dealloc_pd(pd));
	INT(ibv_dealloc_pd(pd));
	INT(ibv_close_device(context));
}

int main(void)
{
	context = open_device();
	pd = alloc_pd(context);
	return 0;
}
