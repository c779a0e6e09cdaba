/*
 * B opens the device for itself and imports A's handle there, and C's PD has that number as well: it is said that one
 * of them need not be what was meant.
 *
 * expect: error pd-handle-foreign in ibv_import_pd (pd_handle) forwarded by B at allocs
 * lab: no, the machine is too slow for the time that the guard looks elsewhere
 * shows: more device files have one of this number
 */
#include "actors.h"

int main(void)
{
	actors();

	struct actor A = start("A"), B = start("B"), C = start("C");
	long handle;

	ask(A, opens, 0);
	ask(B, opens, 0);
	ask(C, opens, 0);
	handle = ask(A, allocs, 0);
	MUST(ask(C, allocs, 0) == handle);
	ask(B, fails_to_import, handle);
	ask(C, deallocs, 0);
	ask(A, deallocs, 0);
	end(C);
	end(B);
	end(A);
	return worst_status;
}
