/*
 * One of two contexts of a device file is closed; the other goes on.
 *
 * nearly: context-closed
 * expect: none
 */
#include "../common/trace.h"

int main(void)
{
	struct ibv_context *first = open_device();
	struct ibv_context *second = share(first);
	struct ibv_pd *pd;

	INT(ibv_close_device(first));
	pd = alloc_pd(second);
	INT(ibv_dealloc_pd(pd));
	INT(ibv_close_device(second));
	return 0;
}
