/*
 * B destroys the PD, and A destroys it once more: unimport is what is left to A.
 *
 * expect: warning pd-destroyed-elsewhere in ibv_dealloc_pd (pd) forwarded by A of B at deallocs
 */
#include "actors.h"

int main(void)
{
	actors();

	struct actor A = start("A"), B = start("B");

	shared(A, B);
	ask(B, imports, ask(A, allocs, 0));
	MUST(ask(B, deallocs, 0) == 0);
	MUST(ask(A, deallocs, 0) == ENOENT);
	ask(A, unimports, 0);
	end(B);
	end(A);
	return worst_status;
}
