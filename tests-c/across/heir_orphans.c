/*
 * A exits and leaves the PD to its child, which exits as well. B keeps the device file open. The child tells, whose
 * reference was the last, and so does B, which cannot know what was told.
 *
 * expect: error object-orphaned in exit by heir of A at allocs
 * expect: error object-orphaned in exit by B of A at allocs
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
