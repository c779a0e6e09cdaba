/*
 * B closes its context before it releases the PD, and A keeps the device file open.
 *
 * expect: error reference-lost in ibv_close_device by B of A
 */
#include "actors.h"

int main(void)
{
	actors();

	struct actor A = start("A"), B = start("B");

	shared(A, B);
	ask(B, imports, ask(A, allocs, 0));
	ask(B, closes, 0);
	end(B);
	ask(A, deallocs, 0);
	end(A);
	return worst_status;
}
