/*
 * A closes its context with a PD in it, and the device file lives on in a child that calls no verbs.
 *
 * expect: error reference-lost in ibv_close_device by A
 */
#include "heir.h"

int main(void)
{
	actors();

	struct actor A = start("A"), heir;

	ask(A, opens, 0);
	ask(A, allocs, 0);
	heir = heir_of(A);
	ask(A, closes, 0);
	end_heir(A, heir);
	end(A);
	return worst_status;
}
