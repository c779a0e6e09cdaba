/*
 * A's child closes the context that it inherited, with all that A uses.
 *
 * expect: warning inherited-context-closed in ibv_close_device by heir
 */
#include "heir.h"

int main(void)
{
	actors();

	struct actor A = start("A"), heir;

	ask(A, opens, 0);
	ask(A, allocs, 0);
	heir = heir_of(A);
	ask(heir, closes, 0);
	end_heir(A, heir);
	MUST(ask(A, deallocs, 0) == 0);
	end(A);
	return worst_status;
}
