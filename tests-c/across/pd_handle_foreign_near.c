/*
 * The same, but A's PD is gone: it lives nowhere, and nobody can say where it came from.
 *
 * expect: none
 * nearly: pd-handle-foreign
 */
#include "actors.h"

int main(void)
{
	actors();

	struct actor A = start("A"), B = start("B");

	ask(A, opens, 0);
	ask(B, opens, 0);
	long handle = ask(A, allocs, 0);
	ask(A, deallocs, 0);
	ask(B, fails_to_import, handle);
	end(B);
	end(A);
	return worst_status;
}
