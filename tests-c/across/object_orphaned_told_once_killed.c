/*
 * A is killed with a PD that nobody else has. B, the first to exit after it, tells, and C does not tell again.
 *
 * expect: error object-orphaned in exit by B of A at allocs
 */
#include "actors.h"

int main(void)
{
	actors();

	struct actor A = start("A"), B = start("B"), C = start("C"), D = start("D");

	shared(A, B);
	hand_on(A, C);
	hand_on(A, D);
	ask(A, allocs, 0);
	kill_actor(A);
	end(B);
	end(C);
	end(D);
	return worst_status;
}
