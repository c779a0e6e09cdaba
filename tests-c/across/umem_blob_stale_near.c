/*
 * The handle of a UMEM that is gone is another's now, and B imports that one's blob.
 *
 * needs: 63
 * expect: none
 * nearly: umem-blob-stale
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
	ask(A, deregs_umem, 0);
	ask(A, regs_umem, 0);
	ask(A, exports_umem, 0);
	ask(B, imports_umem, 0);
	ask(B, unimports_umem, 0);
	ask(A, deregs_umem, 0);
	end(B);
	end(A);
	return worst_status;
}
