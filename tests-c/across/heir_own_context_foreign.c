/*
 * A's child opens the device for itself, and imports there what only the inherited context has.
 *
 * expect: error pd-handle-foreign in ibv_import_pd (pd_handle) forwarded by heir of A at allocs
 */
#include "heir.h"

static long imports_into_its_own(long handle)
{
	struct ibv_context *own = open_device();

	MUST(!PTR(ibv_import_pd(own, handle)));
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
	ask(heir, imports_into_its_own, handle);
	end_heir(A, heir);
	MUST(ask(A, deallocs, 0) == 0);
	end(A);
	return worst_status;
}
