/*
 * B unimports, and closes then.
 *
 * expect: none
 * nearly: reference-lost
 */
#include "actors.h"

int main(void)
{
	actors();

	struct actor A = start("A"), B = start("B");

	shared(A, B);
	ask(B, imports, ask(A, allocs, 0));
	ask(B, unimports, 0);
	ask(B, closes, 0);
	end(B);
	ask(A, deallocs, 0);
	end(A);
	return worst_status;
}
