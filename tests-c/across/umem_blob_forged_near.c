/*
 * B makes a blob up, and a process that nobody saw has the device file, too: it may have exported it.
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
	memset(&blob, 0x11, sizeof(blob));
	ask(B, imports_umem, 0);
	ask(B, unimports_umem, 0);
	end(C);
	end(B);
	end(A);
	return worst_status;
}
