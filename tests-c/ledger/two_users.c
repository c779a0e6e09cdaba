/*
 * A is root and hands its device file to B, which is another user. tests/across says what each of them knows of the
 * other, with a ledger that their group shares and without one.
 */
#include "../across/actors.h"

#include <grp.h>

#define NOBODY 65534

static struct ibv_pd *second;

/* As if it had been started by that user, before any verbs call. */
static long becomes_another_user(long unused)
{
	MUST(setgroups(0, NULL) == 0 && setresgid(NOBODY, NOBODY, NOBODY) == 0 && setresuid(NOBODY, NOBODY, NOBODY) == 0);
	MUST(prctl(PR_SET_DUMPABLE, 1) == 0);
	return unused;
}

static long allocs_second(long unused)
{
	(void)unused;
	second = alloc_pd(context);
	return second->handle;
}

static long imports_second(long handle)
{
	second = import_pd(context, handle);
	return 0;
}

static long uses_and_destroys_second(long unused)
{
	INT(ibv_dereg_mr(reg_mr(second)));
	MUST(INT(ibv_dealloc_pd(second)) == 0);
	return unused;
}

int main(void)
{
	actors();

	struct actor A = start("A"), B = start("B");

	ask(B, becomes_another_user, 0);
	shared(A, B);
	ask(B, imports, ask(A, allocs, 0));
	ask(B, imports_second, ask(A, allocs_second, 0));
	ask(B, regs, 0);
	ask(B, deregs, 0);
	MUST(ask(A, deallocs, 0) == 0);
	ask(B, fails_to_reg, 0);
	ask(B, unimports, 0);
	end(A);
	ask(B, uses_and_destroys_second, 0);
	ask(B, closes, 0);
	end(B);
	return worst_status;
}
