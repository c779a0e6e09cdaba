/*
 * A's child destroys the PD that it inherited, and A goes on using it.
 *
 * expect: error pd-used-after-destroy in ibv_reg_mr (pd) forwarded by A of heir at deallocs
 * expect: note pd-destroyed-while-shared in ibv_dealloc_pd by heir of A as owner
 */
#include "heir.h"

int main(void)
{
	actors();

	struct actor A = start("A"), heir;

	ask(A, opens, 0);
	ask(A, allocs, 0);
	heir = heir_of(A);
	MUST(ask(heir, deallocs, 0) == 0);
	ask(A, fails_to_reg, 0);
	ask(A, unimports, 0);
	end_heir(A, heir);
	end(A);
	return worst_status;
}
