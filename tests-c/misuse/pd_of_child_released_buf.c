/*
 * A buffer is freed after its PD: no kernel knows of it, so the dealloc succeeds.
 *
 * needs: 65
 * expect: error pd-of-child-released in ibv_free_buf (buf) refused
 * options: mode=strict
 * parity: no, the real library reads free memory
 */
#include "../common/queues.h"

int main(void)
{
	struct ibv_context *context = open_device();
	struct ibv_pd *pd = alloc_pd(context);
	struct ibv_buf *buf;

	MUST(PTR(ibv_alloc_buf(pd, PAGE, &buf)));
	MUST(INT(ibv_dealloc_pd(pd)) == 0);
	VOID(ibv_free_buf(buf));
	INT(ibv_close_device(context));
	return 0;
}
