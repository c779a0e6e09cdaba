/*
 * A destroys the PD that B has imported; B goes on to use it.
 *
 * expect: error pd-used-after-destroy in ibv_reg_mr (pd) forwarded by B of A at deallocs
 */
#include "actors.h"

int main(void)
{
	actors();

	struct actor A = start("A"), B = start("B");

	shared(A, B);
	ask(B, imports, ask(A, allocs, 0));
	MUST(ask(A, deallocs, 0) == 0);
	ask(B, fails_to_reg, 0);
	ask(B, unimports, 0);
	end(B);
	end(A);
	return worst_status;
}
