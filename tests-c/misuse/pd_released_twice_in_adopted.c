/*
 * A context is opened where the guard does not see it, and used where it does: what is seen to be wrong there is told.
 *
 * run: --audit=off
 * expect: error pd-released-twice in ibv_unimport_pd (pd) refused
 * parity: no, the second unimport frees twice
 */
#include "../common/trace.h"
#include "../common/unguarded.h"

int main(void)
{
	struct ibv_context *context = unguarded_open();
	struct ibv_pd *pd = alloc_pd(context);
	struct ibv_pd *imported = import_pd(context, pd->handle);

	VOID(ibv_unimport_pd(imported));
	VOID(ibv_unimport_pd(imported));
	MUST(INT(ibv_dealloc_pd(pd)) == 0);
	MUST(INT(ibv_close_device(context)) == 0);
	return 0;
}
