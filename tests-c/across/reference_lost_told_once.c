/*
 * A closes its context with a PD in it, and tells. B, which exits after it while C keeps the device file open, does not
 * tell again that the PD is lost.
 *
 * expect: error reference-lost in ibv_close_device by A
 */
#include "actors.h"

int main(void)
{
	actors();

	struct actor A = start("A"), B = start("B"), C = start("C");

	shared(A, B);
	hand_on(A, C);
	ask(A, allocs, 0);
	ask(A, closes, 0);
	end(A);
	end(B);
	end(C);
	return worst_status;
}
