/*
 * A is killed with a PD that B has, too: nobody is there to tell, and nothing is wrong.
 *
 * expect: none
 * expect: no note left-to-others
 * nearly: left-to-others
 */
#include "actors.h"

int main(void)
{
	actors();

	struct actor A = start("A"), B = start("B");

	shared(A, B);
	ask(B, imports, ask(A, allocs, 0));
	kill_actor(A);
	ask(B, regs, 0);
	ask(B, deregs, 0);
	MUST(ask(B, deallocs, 0) == 0);
	end(B);
	return worst_status;
}
