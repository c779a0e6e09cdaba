/*
 * A cannot deallocate the PD, since B has an MR on it, and never tries again.
 *
 * expect: note pd-dealloc-busy in ibv_dealloc_pd by A of B
 * expect: warning pd-dealloc-busy in ibv_close_device by A of B at allocs
 * expect: error reference-lost in ibv_close_device by A
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
	ask(A, closes, 0);
	end(A);
	ask(B, deregs, 0);
	MUST(ask(B, deallocs, 0) == 0);
	end(B);
	return worst_status;
}
