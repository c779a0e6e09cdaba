/*
 * B deregisters the UMEM; A, which registered it, unimports it.
 *
 * needs: 63
 * expect: none
 * nearly: umem-destroyed-elsewhere
 */
#define NEEDS_UMEM_EXPORT
#include "actors.h"

int main(void)
{
	actors();

	struct actor A = start("A"), B = start("B");

	shared(A, B);
	ask(A, regs_umem, 0);
	ask(A, exports_umem, 0);
	ask(B, imports_umem, 0);
	MUST(ask(B, deregs_umem, 0) == 0);
	ask(A, unimports_umem, 0);
	end(B);
	end(A);
	return worst_status;
}
