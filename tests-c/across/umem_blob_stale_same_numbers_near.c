/*
 * Handle and umem id of the blob both belong to another UMEM by now, which was exported too: its blob looks the same.
 *
 * needs: 63
 * expect: none
 * expect: no note umem-blob-stale
 * nearly: umem-blob-stale
 * lab: no, only the emulated device gives ids out again when it is asked to
 */
#define NEEDS_UMEM_EXPORT
#include "actors.h"
#include "../common/emu.h"

/* The same handle and the same umem id as before. */
static long regs_the_same(long umem_id)
{
	umem = reg_umem(context);
	MUST(umem->umem_id == umem_id);
	return 0;
}

static long id_of_umem(long unused)
{
	(void)unused;
	return umem->umem_id;
}

int main(void)
{
	actors();

	struct actor A = start("A"), B = start("B");
	long umem_id;

	emu_control("{\"op\":\"reuse\",\"device\":0}");
	shared(A, B);
	ask(A, regs_umem, 0);
	umem_id = ask(A, id_of_umem, 0);
	ask(A, exports_umem, 0);
	ask(A, deregs_umem, 0);
	ask(A, regs_the_same, umem_id);
	ask(A, exports_umem, 0);
	ask(B, imports_umem, 0);
	ask(B, unimports_umem, 0);
	ask(A, deregs_umem, 0);
	end(B);
	end(A);
	return worst_status;
}
