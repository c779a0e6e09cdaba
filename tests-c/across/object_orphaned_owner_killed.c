/*
 * A is killed with a PD that nobody else has; B exits and tells, since C keeps the device file open.
 *
 * expect: error object-orphaned by B of A at allocs
 */
#include "actors.h"

int main(void)
{
	actors();

	struct actor A = start("A"), B = start("B"), C = start("C");

	shared(A, B);
	hand_on(A, C);
	ask(A, allocs, 0);
	kill_actor(A);
	end(B);
	end(C);
	return worst_status;
}
