/*
 * A's child uses the PD that it inherited and leaves it to A.
 *
 * expect: none
 * nearly: pd-used-after-destroy
 */
#include "heir.h"

int main(void)
{
	actors();

	struct actor A = start("A"), heir;

	ask(A, opens, 0);
	ask(A, allocs, 0);
	heir = heir_of(A);
	ask(heir, regs, 0);
	ask(heir, deregs, 0);
	end_heir(A, heir);
	ask(A, regs, 0);
	ask(A, deregs, 0);
	MUST(ask(A, deallocs, 0) == 0);
	end(A);
	return worst_status;
}
