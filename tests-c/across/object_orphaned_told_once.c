/*
 * A exits with a PD that nobody else has, and tells. B and C, which exit after it while D keeps the device file open, do
 * not tell again.
 *
 * expect: error object-orphaned in exit by A at allocs
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
	end(A);
	end(B);
	end(C);
	end(D);
	return worst_status;
}
