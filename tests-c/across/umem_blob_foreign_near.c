/*
 * Both device files have an exported UMEM of this handle; the blob is that of B's own.
 *
 * needs: 63
 * expect: none
 * nearly: umem-blob-foreign
 */
#define NEEDS_UMEM_EXPORT
#include "actors.h"

int main(void)
{
	actors();

	struct actor A = start("A"), B = start("B"), C = start("C");

	ask(A, opens, 0);
	ask(B, opens, 0);
	ask(A, regs_umem, 0);
	ask(A, exports_umem, 0);
	ask(B, regs_umem, 0);
	ask(B, exports_umem, 0);
	hand_on(B, C);
	ask(C, imports_umem, 0);
	ask(C, unimports_umem, 0);
	end(C);
	ask(B, deregs_umem, 0);
	end(B);
	ask(A, deregs_umem, 0);
	end(A);
	return worst_status;
}
