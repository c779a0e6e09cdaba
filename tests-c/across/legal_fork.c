/*
 * Legal 8: everyone forks children with all that it holds: they exit, run another program, open the device for
 * themselves.
 *
 * actors: 2, 3, 10
 * expect: none
 */
#include "company.h"

static void only_exits(struct ibv_context *inherited)
{
	(void)inherited;
}

static void runs_another(struct ibv_context *inherited)
{
	(void)inherited;
	execl("/bin/true", "true", (char *)NULL);
	_exit(99);
}

static void opens_its_own(struct ibv_context *inherited)
{
	struct ibv_context *own = open_device();
	struct ibv_pd *first = alloc_pd(own);

	(void)inherited;
	VOID(ibv_unimport_pd(import_pd(own, first->handle)));
	MUST(INT(ibv_dealloc_pd(first)) == 0);
	MUST(INT(ibv_close_device(own)) == 0);
}

static long forks(long unused)
{
	MUST(in_child(only_exits, context) == 0);
	MUST(in_child(runs_another, context) == 0);
	MUST(in_child(opens_its_own, context) == 0);
	return unused;
}

int main(void)
{
	actors();
	start_company();
	share_with_all();
	others(imports, ask(company[0], allocs, 0));
	everyone(regs, 0);
	everyone(forks, 0);
	everyone(deregs, 0);
	others(unimports, 0);
	MUST(ask(company[0], deallocs, 0) == 0);
	everyone(closes, 0);
	return end_company(0);
}
