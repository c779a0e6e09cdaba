/*
 * A destroyed the PD, and C's new one has its number: B's dealloc would destroy that.
 *
 * expect: error pd-destroyed-elsewhere in ibv_dealloc_pd (pd) refused by B of A at deallocs
 * parity: no, unguarded it destroys the new PD
 */
#include "actors.h"

int main(void)
{
	actors();

	struct actor A = start("A"), B = start("B"), C = start("C");

	shared(A, B);
	hand_on(A, C);
	long handle = ask(A, allocs, 0);
	ask(B, imports, handle);
	ask(A, deallocs, 0);
	MUST(ask(C, allocs, 0) == handle);
	MUST(ask(B, deallocs, 0) == ENOENT);
	ask(B, unimports, 0);
	/* It lives. */
	ask(C, regs, 0);
	ask(C, deregs, 0);
	MUST(ask(C, deallocs, 0) == 0);
	end(C);
	end(B);
	end(A);
	return worst_status;
}
