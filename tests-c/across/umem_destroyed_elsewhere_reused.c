/*
 * A deregistered the UMEM, and its next one has the number: B's dereg would destroy that.
 *
 * needs: 63
 * expect: error umem-destroyed-elsewhere in mlx5dv_devx_umem_dereg (umem) refused by B of A at deregs_umem
 * parity: no, unguarded it destroys the new UMEM
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
	ask(A, deregs_umem, 0);
	ask(A, regs_umem, 0);
	MUST(ask(B, deregs_umem, 0) == ENOENT);
	ask(B, unimports_umem, 0);
	MUST(ask(A, deregs_umem, 0) == 0);
	end(B);
	end(A);
	return worst_status;
}
