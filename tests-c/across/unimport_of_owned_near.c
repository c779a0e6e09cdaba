/*
 * A hands over: B holds the PD and destroys it.
 *
 * expect: note unimport-of-owned in ibv_unimport_pd (pd) by A of B
 * nearly: unimport-of-owned
 */
#include "actors.h"

int main(void)
{
	actors();

	struct actor A = start("A"), B = start("B");

	shared(A, B);
	ask(B, imports, ask(A, allocs, 0));
	ask(A, unimports, 0);
	ask(A, closes, 0);
	end(A);
	MUST(ask(B, deallocs, 0) == 0);
	ask(B, closes, 0);
	end(B);
	return worst_status;
}
