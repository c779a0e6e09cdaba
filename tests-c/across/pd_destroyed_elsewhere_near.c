/*
 * The number went to a new PD, and B, which imported that one too, destroys it through the right reference.
 *
 * expect: none
 * nearly: pd-destroyed-elsewhere
 */
#include "actors.h"

int main(void)
{
	actors();

	struct actor A = start("A"), B = start("B");

	shared(A, B);
	long handle = ask(A, allocs, 0);
	ask(B, imports, handle);
	ask(A, deallocs, 0);
	ask(B, unimports, 0);
	MUST(ask(A, allocs, 0) == handle);
	ask(B, imports, handle);
	MUST(ask(B, deallocs, 0) == 0);
	ask(A, unimports, 0);
	end(B);
	end(A);
	return worst_status;
}
