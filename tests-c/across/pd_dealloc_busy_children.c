/*
 * A cannot deallocate the PD, since B has a QP and two memory windows on it: A is told who has what.
 *
 * log: stderr
 * options: verbose=1
 * parity: no, the report is on stderr
 * shows: pd-dealloc-busy in ibv_dealloc_pd(pd)
 * shows: (B) has 2 mws
 * shows: (B) has 1 qp
 * exit: 0
 */
#include "actors.h"
#include "../common/queues.h"

static struct ibv_mw *mws[2];
static struct ibv_cq *cq;
static struct ibv_qp *qp;

static long makes(long unused)
{
	(void)unused;
	for (int i = 0; i < 2; i++)
		mws[i] = alloc_mw(pd);
	cq = create_cq(context);
	qp = create_qp(pd, cq);
	return 0;
}

static long ends(long unused)
{
	(void)unused;
	for (int i = 0; i < 2; i++)
		INT(ibv_dealloc_mw(mws[i]));
	INT(ibv_destroy_qp(qp));
	return INT(ibv_destroy_cq(cq));
}

int main(void)
{
	actors();

	struct actor A = start("A"), B = start("B");

	shared(A, B);
	ask(B, imports, ask(A, allocs, 0));
	ask(B, makes, 0);
	MUST(ask(A, deallocs, 0) == EBUSY);
	ask(B, ends, 0);
	ask(B, unimports, 0);
	MUST(ask(A, deallocs, 0) == 0);
	ask(B, closes, 0);
	ask(A, closes, 0);
	end(B);
	end(A);
	return worst_status;
}
