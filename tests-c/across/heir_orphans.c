/*
 * A exits and leaves the PD to its child, which exits as well: with it goes the last reference, and it tells what A made.
 * B keeps the device file open.
 *
 * expect: error object-orphaned in exit by heir of A at allocs
 */
#include "heir.h"

int main(void)
{
	actors();

	struct actor A = start("A"), B = start("B"), C = start("C"), heir;

	shared(A, B);
	hand_on(A, C);
	ask(A, allocs, 0);
	heir = heir_of(A);
	ask(heir, regs, 0);
	ask(heir, deregs, 0);
	end(A);
	end(heir);
	end(B);
	end(C);
	return worst_status;
}
