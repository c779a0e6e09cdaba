/*
 * Another reference to the PD is left, and destroys it after the owner's context is closed.
 *
 * nearly: object-orphaned
 * expect: none
 */
#include "../common/trace.h"

int main(void)
{
	struct ibv_context *context = open_device();
	struct ibv_context *other = share(context);
	struct ibv_pd *pd = alloc_pd(context);
	struct ibv_pd *imported = import_pd(other, pd->handle);

	VOID(ibv_unimport_pd(pd));
	INT(ibv_close_device(context));
	MUST(INT(ibv_dealloc_pd(imported)) == 0);
	INT(ibv_close_device(other));
	return 0;
}
