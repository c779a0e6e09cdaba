/*
 * B opens the device for itself and imports a UMEM of A's device file there: the import checks nothing.
 *
 * needs: 63
 * expect: error umem-blob-foreign in mlx5dv_devx_umem_import (data) forwarded by B of A at regs_umem
 */
#define NEEDS_UMEM_EXPORT
#include "actors.h"

int main(void)
{
	actors();

	struct actor A = start("A"), B = start("B");

	ask(A, opens, 0);
	ask(B, opens, 0);
	ask(A, regs_umem, 0);
	ask(A, exports_umem, 0);
	ask(B, imports_umem, 0);
	ask(B, unimports_umem, 0);
	end(B);
	ask(A, deregs_umem, 0);
	end(A);
	return worst_status;
}
