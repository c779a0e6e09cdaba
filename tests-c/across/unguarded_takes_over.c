/*
 * A hands its PD over to a process without the guard, and exits: nobody claims that the PD is lost.
 *
 * expect: note unimport-of-owned in ibv_unimport_pd (pd) by A
 * nearly: unimport-of-owned, object-orphaned
 */
#include "actors.h"

int main(void)
{
	actors();

	struct actor A = start("A"), C = start_unguarded("C");

	shared(A, C);
	ask(C, imports, ask(A, allocs, 0));
	ask(A, unimports, 0);
	end(A);
	ask(C, regs, 0);
	ask(C, deregs, 0);
	MUST(ask(C, deallocs, 0) == 0);
	end(C);
	return worst_status;
}
