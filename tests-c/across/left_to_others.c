/*
 * A exits with a PD that B has, too.
 *
 * expect: note left-to-others in exit by A of B at allocs
 */
#include "actors.h"

int main(void)
{
	actors();

	struct actor A = start("A"), B = start("B");

	shared(A, B);
	ask(B, imports, ask(A, allocs, 0));
	end(A);
	ask(B, regs, 0);
	ask(B, deregs, 0);
	MUST(ask(B, deallocs, 0) == 0);
	end(B);
	return worst_status;
}
