/*
 * The manual page asks for one end of each reference: a destroy is one.
 *
 * expect: error pd-released-twice in ibv_unimport_pd (pd) refused
 * parity: no, the second call frees the struct again
 */
#include "../common/trace.h"

int main(void)
{
	struct ibv_context *context = open_device();
	struct ibv_pd *pd = alloc_pd(context);
	struct ibv_pd *imported = import_pd(context, pd->handle);

	MUST(INT(ibv_dealloc_pd(imported)) == 0);
	VOID(ibv_unimport_pd(imported));
	VOID(ibv_unimport_pd(pd));
	INT(ibv_close_device(context));
	return 0;
}
