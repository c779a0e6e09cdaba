/*
 * B makes a blob up.
 *
 * needs: 63
 * expect: error umem-blob-forged in mlx5dv_devx_umem_import (data) forwarded by B
 */
#define NEEDS_UMEM_EXPORT
#include "actors.h"

int main(void)
{
	actors();

	struct actor A = start("A"), B = start("B");

	shared(A, B);
	memset(&blob, 0x11, sizeof(blob));
	ask(B, imports_umem, 0);
	ask(B, unimports_umem, 0);
	end(B);
	end(A);
	return worst_status;
}
