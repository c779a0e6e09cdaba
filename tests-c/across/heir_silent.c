/*
 * A is killed, and its child, which has the device file and calls no verbs, may use the PD: nobody claims that it is
 * lost.
 *
 * expect: note object-orphaned in exit by B of A at allocs
 * nearly: object-orphaned
 */
#include "heir.h"

int main(void)
{
	actors();

	struct actor A = start("A"), B = start("B"), heir;

	shared(A, B);
	ask(A, allocs, 0);
	heir = heir_of(A);
	kill_actor(A);
	end(B);
	end(heir);
	return worst_status;
}
