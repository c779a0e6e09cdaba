/*
 * A process without the guard made the PD and destroyed it, and another one is in a device file of its own: B's import
 * fails, and nobody says why.
 *
 * expect: none
 * nearly: pd-handle-stale, pd-handle-foreign
 */
#include "actors.h"

int main(void)
{
	actors();

	struct actor A = start("A"), B = start("B"), C = start_unguarded("C"), D = start_unguarded("D");
	long handle;

	shared(A, B);
	hand_on(A, C);
	ask(D, opens, 0);
	ask(D, allocs, 0);
	handle = ask(C, allocs, 0);
	MUST(ask(C, deallocs, 0) == 0);
	ask(B, fails_to_import, handle);
	end(D);
	end(C);
	end(B);
	end(A);
	return worst_status;
}
