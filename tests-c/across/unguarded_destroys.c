/*
 * A process without the guard destroys the PD. B's use of it fails, and nobody says why.
 *
 * expect: none
 * nearly: pd-used-after-destroy, pd-destroyed-elsewhere
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
	ask(B, imports, handle);
	ask(C, imports, handle);
	MUST(ask(C, deallocs, 0) == 0);
	ask(B, fails_to_reg, 0);
	ask(B, unimports, 0);
	MUST(ask(A, deallocs, 0) == ENOENT);
	ask(A, unimports, 0);
	end(C);
	end(B);
	end(A);
	return worst_status;
}
