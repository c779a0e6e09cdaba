/*
 * A deregisters the UMEM while B holds it: a note names B.
 *
 * needs: 63
 * expect: note umem-destroyed-while-shared in mlx5dv_devx_umem_dereg forwarded by A of B
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
	ask(B, unimports_umem, 0);
	end(B);
	end(A);
	return worst_status;
}
