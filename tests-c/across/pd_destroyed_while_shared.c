/*
 * A destroys the PD while B holds it: a note names B.
 *
 * expect: note pd-destroyed-while-shared in ibv_dealloc_pd forwarded by A of B
 */
#include "actors.h"

int main(void)
{
	actors();

	struct actor A = start("A"), B = start("B");

	shared(A, B);
	ask(B, imports, ask(A, allocs, 0));
	MUST(ask(A, deallocs, 0) == 0);
	ask(B, unimports, 0);
	end(B);
	end(A);
	return worst_status;
}
