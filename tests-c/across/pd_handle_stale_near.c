/*
 * The handle that B imports was another PD's before, and is a live PD's now.
 *
 * expect: none
 * nearly: pd-handle-stale
 */
#include "actors.h"

int main(void)
{
	actors();

	struct actor A = start("A"), B = start("B");

	shared(A, B);
	long handle = ask(A, allocs, 0);
	ask(A, deallocs, 0);
	MUST(ask(A, allocs, 0) == handle);
	ask(B, imports, handle);
	ask(B, unimports, 0);
	ask(A, deallocs, 0);
	end(B);
	end(A);
	return worst_status;
}
