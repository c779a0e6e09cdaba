/*
 * What a child inherited is marked as such: A destroys the PD while its child has it.
 *
 * expect: note pd-destroyed-while-shared in ibv_dealloc_pd by A of heir as heir
 */
#include "heir.h"

int main(void)
{
	actors();

	struct actor A = start("A"), heir;

	ask(A, opens, 0);
	ask(A, allocs, 0);
	heir = heir_of(A);
	ask(heir, regs, 0);
	ask(heir, deregs, 0);
	MUST(ask(A, deallocs, 0) == 0);
	end_heir(A, heir);
	end(A);
	return worst_status;
}
