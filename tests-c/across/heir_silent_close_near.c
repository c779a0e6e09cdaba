/*
 * A closes its context with a PD in it, and the device file ends with that: its child is gone.
 *
 * expect: warning reference-lost in ibv_close_device by A
 * nearly: reference-lost
 */
#include "heir.h"

int main(void)
{
	actors();

	struct actor A = start("A"), heir;

	ask(A, opens, 0);
	ask(A, allocs, 0);
	heir = heir_of(A);
	end_heir(A, heir);
	ask(A, closes, 0);
	end(A);
	return worst_status;
}
