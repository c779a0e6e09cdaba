/*
 * B deregisters the UMEM, and A deregisters it once more.
 *
 * needs: 63
 * expect: warning umem-destroyed-elsewhere in mlx5dv_devx_umem_dereg (umem) forwarded by A of B at deregs_umem
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
	MUST(ask(A, deregs_umem, 0) == ENOENT);
	ask(A, unimports_umem, 0);
	end(B);
	end(A);
	return worst_status;
}
