/*
 * A's child opens the device for itself, and imports what the inherited context has where it inherited it.
 *
 * expect: none
 * nearly: pd-handle-foreign
 */
#include "heir.h"

static long imports_where_it_is(long handle)
{
	struct ibv_context *own = open_device();

	VOID(ibv_unimport_pd(import_pd(context, handle)));
	INT(ibv_close_device(own));
	return 0;
}

int main(void)
{
	actors();

	struct actor A = start("A"), heir;

	long handle;

	ask(A, opens, 0);
	handle = ask(A, allocs, 0);
	heir = heir_of(A);
	ask(heir, imports_where_it_is, handle);
	end_heir(A, heir);
	MUST(ask(A, deallocs, 0) == 0);
	end(A);
	return worst_status;
}
