/*
 * A's dealloc fails since a process without the guard has a region on the PD: nobody says that there is no child.
 *
 * expect: warning pd-dealloc-busy in ibv_close_device by A
 */
#include "actors.h"

int main(void)
{
	actors();

	struct actor A = start("A"), C = start_unguarded("C");

	shared(A, C);
	ask(C, imports, ask(A, allocs, 0));
	ask(C, regs, 0);
	MUST(ask(A, deallocs, 0) == EBUSY);
	ask(C, deregs, 0);
	MUST(ask(C, deallocs, 0) == 0);
	end(C);
	ask(A, closes, 0);
	end(A);
	return worst_status;
}
