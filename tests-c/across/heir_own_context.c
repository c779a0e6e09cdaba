/*
 * A's child opens the device for itself, and is judged like anybody else there.
 *
 * expect: error pd-released-twice in ibv_unimport_pd (pd) refused by heir
 * parity: no, unguarded it frees twice
 */
#include "heir.h"

static long releases_its_own_twice(long unused)
{
	struct ibv_context *own = open_device();
	struct ibv_pd *first = alloc_pd(own), *second = import_pd(own, first->handle);

	VOID(ibv_unimport_pd(second));
	VOID(ibv_unimport_pd(second));
	INT(ibv_dealloc_pd(first));
	INT(ibv_close_device(own));
	return unused;
}

int main(void)
{
	actors();

	struct actor A = start("A"), heir;

	ask(A, opens, 0);
	ask(A, allocs, 0);
	heir = heir_of(A);
	ask(heir, releases_its_own_twice, 0);
	end_heir(A, heir);
	MUST(ask(A, deallocs, 0) == 0);
	end(A);
	return worst_status;
}
