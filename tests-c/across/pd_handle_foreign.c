/*
 * B opens the device for itself, instead of importing what A opened, and imports A's handle there.
 *
 * expect: error pd-handle-foreign in ibv_import_pd (pd_handle) forwarded by B of A at allocs
 */
#include "actors.h"

int main(void)
{
	actors();

	struct actor A = start("A"), B = start("B");

	ask(A, opens, 0);
	ask(B, opens, 0);
	ask(B, fails_to_import, ask(A, allocs, 0));
	end(B);
	ask(A, deallocs, 0);
	end(A);
	return worst_status;
}
