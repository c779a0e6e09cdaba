/*
 * B uses the PD up to its destruction, and only unimports it afterwards.
 *
 * expect: none
 * expect: note pd-destroyed-while-shared in ibv_dealloc_pd by A of B
 * nearly: pd-used-after-destroy, pd-destroyed-while-shared
 */
#include "actors.h"

int main(void)
{
	actors();

	struct actor A = start("A"), B = start("B");

	shared(A, B);
	ask(B, imports, ask(A, allocs, 0));
	ask(B, regs, 0);
	ask(B, deregs, 0);
	MUST(ask(A, deallocs, 0) == 0);
	ask(B, unimports, 0);
	end(B);
	end(A);
	return worst_status;
}
