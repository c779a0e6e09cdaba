/*
 * What a child merely inherited is nobody's leak: A has released everything and is gone when its child exits, and
 * another child exits while A holds everything.
 *
 * expect: none
 * expect: no note held-at-exit
 * expect: no note left-to-others
 * nearly: held-at-exit, left-to-others, reference-lost
 */
#include "heir.h"

int main(void)
{
	actors();

	struct actor A = start("A"), first, second;

	ask(A, opens, 0);
	ask(A, allocs, 0);
	first = heir_of(A);
	second = heir_of(A);
	ask(first, regs, 0);
	ask(first, deregs, 0);
	end_heir(A, first);
	ask(second, regs, 0);
	ask(second, deregs, 0);
	MUST(ask(A, deallocs, 0) == 0);
	ask(A, closes, 0);
	end(A);
	end(second);
	return worst_status;
}
