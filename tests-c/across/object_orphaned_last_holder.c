/*
 * A hands its PD over to B and ends; B exits with it, while C keeps the device file open.
 *
 * expect: error object-orphaned by B
 */
#include "actors.h"

int main(void)
{
	actors();

	struct actor A = start("A"), B = start("B"), C = start("C");

	shared(A, B);
	hand_on(A, C);
	ask(B, imports, ask(A, allocs, 0));
	ask(A, unimports, 0);
	ask(A, closes, 0);
	end(A);
	end(B);
	end(C);
	return worst_status;
}
