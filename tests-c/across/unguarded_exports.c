/*
 * A process without the guard exports the UMEM that B imports: nobody saw it, and nobody claims that it was not.
 *
 * needs: 63
 * expect: note umem-blob-forged in mlx5dv_devx_umem_import (data) by B
 * nearly: umem-blob-forged
 */
#define NEEDS_UMEM_EXPORT
#include "actors.h"

int main(void)
{
	actors();

	struct actor A = start("A"), B = start("B"), C = start_unguarded("C");

	shared(A, B);
	hand_on(A, C);
	ask(C, regs_umem, 0);
	ask(C, exports_umem, 0);
	ask(B, imports_umem, 0);
	ask(B, unimports_umem, 0);
	MUST(ask(C, deregs_umem, 0) == 0);
	end(C);
	end(B);
	end(A);
	return worst_status;
}
