/*
 * B exports the imported UMEM on while it lives, and unimports it after its end.
 *
 * needs: 63
 * expect: note umem-destroyed-while-shared in mlx5dv_devx_umem_dereg by A of B
 * nearly: umem-used-after-destroy, umem-destroyed-while-shared
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
	ask(B, exports_umem, 0);
	ask(A, deregs_umem, 0);
	ask(B, unimports_umem, 0);
	end(B);
	end(A);
	return worst_status;
}
