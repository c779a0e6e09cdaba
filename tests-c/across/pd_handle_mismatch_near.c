/*
 * A process without the guard imports A's PD and leaves it: what B gets is what A made.
 *
 * expect: none
 * nearly: pd-handle-mismatch
 */
#include "actors.h"

int main(void)
{
	actors();

	struct actor A = start("A"), B = start("B"), C = start_unguarded("C");
	long handle;

	shared(A, B);
	hand_on(A, C);
	handle = ask(A, allocs, 0);
	ask(C, imports, handle);
	ask(C, unimports, 0);
	ask(B, imports, handle);
	ask(B, unimports, 0);
	MUST(ask(A, deallocs, 0) == 0);
	end(C);
	end(B);
	end(A);
	return worst_status;
}
