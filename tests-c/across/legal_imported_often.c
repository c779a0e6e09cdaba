/*
 * Legal 3: everyone imports the PD many times, also its owner in the context that has it.
 *
 * actors: 2, 3, 10
 * expect: none
 */
#include "company.h"

#define TIMES 5

static struct ibv_pd *imported[TIMES];

static long imports_often(long handle)
{
	for (int i = 0; i < TIMES; i++)
		imported[i] = import_pd(context, handle);
	return 0;
}

/* A region through each of them. */
static long regs_through(long unused)
{
	for (int i = 0; i < TIMES; i++)
		INT(ibv_dereg_mr(reg_mr(imported[i])));
	return unused;
}

static long unimports_all(long unused)
{
	for (int i = 0; i < TIMES; i++)
		VOID(ibv_unimport_pd(imported[i]));
	return unused;
}

int main(void)
{
	long handle;

	actors();
	start_company();
	share_with_all();
	handle = ask(company[0], allocs, 0);
	everyone(imports_often, handle);
	others(regs_through, 0);
	everyone(unimports_all, 0);
	MUST(ask(company[0], deallocs, 0) == 0);
	everyone(closes, 0);
	return end_company(0);
}
