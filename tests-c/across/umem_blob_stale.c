/*
 * A deregisters the UMEM before B imports it.
 *
 * needs: 63
 * expect: error umem-blob-stale in mlx5dv_devx_umem_import (data) forwarded by B of A at deregs_umem
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
	ask(B, imports_umem, 0);
	ask(B, unimports_umem, 0);
	end(B);
	end(A);
	return worst_status;
}
