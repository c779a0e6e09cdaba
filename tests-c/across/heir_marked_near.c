/*
 * A child of A has unimported what it inherited before A destroys the PD.
 *
 * expect: none
 * expect: no note pd-destroyed-while-shared
 * nearly: pd-destroyed-while-shared
 */
#include "heir.h"

int main(void)
{
	actors();

	struct actor A = start("A"), heir;

	ask(A, opens, 0);
	ask(A, allocs, 0);
	heir = heir_of(A);
	ask(heir, unimports, 0);
	MUST(ask(A, deallocs, 0) == 0);
	end_heir(A, heir);
	end(A);
	return worst_status;
}
