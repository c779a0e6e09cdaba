/*
 * A unimports what it allocated; B has the device file, but not the PD: it is lost.
 *
 * expect: warning unimport-of-owned in ibv_unimport_pd (pd) by A
 * expect: error object-orphaned by A at allocs
 */
#include "actors.h"

int main(void)
{
	actors();

	struct actor A = start("A"), B = start("B");

	shared(A, B);
	ask(A, allocs, 0);
	ask(A, unimports, 0);
	ask(A, closes, 0);
	end(A);
	end(B);
	return worst_status;
}
