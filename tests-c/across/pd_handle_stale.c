/*
 * A tells B a handle and destroys the PD before B imports it.
 *
 * expect: error pd-handle-stale in ibv_import_pd (pd_handle) forwarded by B of A at deallocs
 */
#include "actors.h"

int main(void)
{
	actors();

	struct actor A = start("A"), B = start("B");

	shared(A, B);
	long handle = ask(A, allocs, 0);
	ask(A, deallocs, 0);
	ask(B, fails_to_import, handle);
	end(B);
	end(A);
	return worst_status;
}
