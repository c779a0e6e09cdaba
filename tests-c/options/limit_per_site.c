/*
 * The limit is one call site's: another site is told anew.
 *
 * options: limit=1
 * expect: error pd-released-twice in ibv_unimport_pd (pd)
 * expect: error pd-released-twice in ibv_unimport_pd (pd)
 * parity: no, the second call frees the struct again
 */
#include "../common/trace.h"

int main(void)
{
	struct ibv_context *context = open_device();
	struct ibv_pd *pd = alloc_pd(context);
	struct ibv_pd *imported = import_pd(context, pd->handle);

	for (int i = 0; i < 3; i++)
		VOID(ibv_unimport_pd(imported));
	VOID(ibv_unimport_pd(imported));
	INT(ibv_dealloc_pd(pd));
	INT(ibv_close_device(context));
	return 0;
}
