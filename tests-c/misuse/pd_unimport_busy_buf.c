/*
 * Freeing a buffer reads the PD that it was made with.
 *
 * needs: 65
 * expect: error pd-unimport-busy in ibv_unimport_pd (pd) forwarded
 */
#include "../common/queues.h"

int main(void)
{
	struct ibv_context *context = open_device();
	struct ibv_pd *pd = alloc_pd(context), *imported = import_pd(context, pd->handle);
	struct ibv_buf *buf, *owners;

	MUST(PTR(ibv_alloc_buf(imported, PAGE, &buf)));
	MUST(PTR(ibv_alloc_buf(pd, PAGE, &owners)));
	VOID(ibv_free_buf(owners));
	VOID(ibv_unimport_pd(imported));
	/* Freeing buf now would read free memory. */
	MUST(INT(ibv_dealloc_pd(pd)) == 0);
	INT(ibv_close_device(context));
	return 0;
}
