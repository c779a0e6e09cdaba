/*
 * A cannot deallocate the PD, since B has an MR on it, and tries again when B has none.
 *
 * expect: note pd-dealloc-busy in ibv_dealloc_pd by A of B
 * nearly: pd-dealloc-busy
 */
#include "actors.h"

int main(void)
{
	actors();

	struct actor A = start("A"), B = start("B");

	shared(A, B);
	ask(B, imports, ask(A, allocs, 0));
	ask(B, regs, 0);
	MUST(ask(A, deallocs, 0) == EBUSY);
	ask(B, deregs, 0);
	ask(B, unimports, 0);
	MUST(ask(A, deallocs, 0) == 0);
	end(B);
	end(A);
	return worst_status;
}
