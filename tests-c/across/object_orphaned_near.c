/*
 * B, the last to hold the PD, exits, and the device file ends with it.
 *
 * expect: none
 * nearly: object-orphaned, held-at-exit
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
