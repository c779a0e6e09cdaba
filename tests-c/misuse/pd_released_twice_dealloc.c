/*
 * expect: error pd-released-twice in ibv_dealloc_pd (pd) refused
 * parity: no, the second call reads and frees the struct again
 */
#include "../common/trace.h"

int main(void)
{
	struct ibv_context *context = open_device();
	struct ibv_pd *pd = alloc_pd(context);

	MUST(INT(ibv_dealloc_pd(pd)) == 0);
	MUST(INT(ibv_dealloc_pd(pd)) == EINVAL);
	INT(ibv_close_device(context));
	return 0;
}
