/*
 * A's child closes a context that it imported itself from what it inherited.
 *
 * expect: none
 * nearly: inherited-context-closed
 */
#include "heir.h"

int main(void)
{
	actors();

	struct actor A = start("A"), B = start("B"), heir;

	shared(A, B);
	heir = heir_of(A);
	hand_on(B, heir);
	ask(heir, closes, 0);
	end_heir(A, heir);
	ask(B, closes, 0);
	ask(A, closes, 0);
	end(B);
	end(A);
	return worst_status;
}
