/*
 * B has let go of the PD before A destroys it, and C, which had it too, was killed.
 *
 * expect: none
 * expect: no note pd-destroyed-while-shared
 * nearly: pd-destroyed-while-shared
 */
#include "actors.h"

int main(void)
{
	actors();

	struct actor A = start("A"), B = start("B"), C = start("C");

	shared(A, B);
	hand_on(A, C);
	long handle = ask(A, allocs, 0);
	ask(B, imports, handle);
	ask(C, imports, handle);
	ask(B, unimports, 0);
	kill_actor(C);
	MUST(ask(A, deallocs, 0) == 0);
	end(B);
	end(A);
	return worst_status;
}
