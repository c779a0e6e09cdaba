/*
 * A process without the guard destroys A's PD and makes another, which has the same handle by now: what B gets is not
 * what A made.
 *
 * expect: warning pd-handle-mismatch in ibv_import_pd (pd_handle) forwarded by B
 * lab: no, its pdns come back at once, so that the new one has the old pdn
 */
#include "actors.h"

int main(void)
{
	actors();

	struct actor A = start("A"), B = start("B"), C = start_unguarded("C");
	long handle;

	shared(A, B);
	hand_on(A, C);
	handle = ask(A, allocs, 0);
	ask(C, imports, handle);
	MUST(ask(C, deallocs, 0) == 0);
	MUST(ask(C, allocs, 0) == handle);
	ask(B, imports, handle);
	ask(B, unimports, 0);
	MUST(ask(C, deallocs, 0) == 0);
	ask(A, unimports, 0);
	end(C);
	end(B);
	end(A);
	return worst_status;
}
