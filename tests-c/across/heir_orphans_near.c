/*
 * A exits and leaves the PD to its child, which has it when B exits.
 *
 * expect: none
 * expect: no note object-orphaned
 * nearly: object-orphaned
 */
#include "heir.h"

int main(void)
{
	actors();

	struct actor A = start("A"), B = start("B"), heir;

	shared(A, B);
	ask(A, allocs, 0);
	heir = heir_of(A);
	ask(heir, regs, 0);
	ask(heir, deregs, 0);
	end(A);
	end(B);
	ask(heir, regs, 0);
	ask(heir, deregs, 0);
	MUST(ask(heir, deallocs, 0) == 0);
	end(heir);
	return worst_status;
}
