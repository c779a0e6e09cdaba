/*
 * B is the last to have the device file, and exits with A's PD.
 *
 * expect: note held-at-exit in exit by B
 * expect: no note object-orphaned
 * nearly: object-orphaned
 */
#include "actors.h"

int main(void)
{
	actors();

	struct actor A = start("A"), B = start("B");

	shared(A, B);
	ask(B, imports, ask(A, allocs, 0));
	ask(A, unimports, 0);
	ask(A, closes, 0);
	end(A);
	end(B);
	return worst_status;
}
