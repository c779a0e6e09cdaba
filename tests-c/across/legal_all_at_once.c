/*
 * Legal 15: everyone at once makes PDs of its own, so that handles go from one process to the next, and imports and
 * releases one that all share.
 *
 * actors: 2, 3, 10
 * expect: none
 */
#include "company.h"

#define ROUNDS 100

static long works(long unused)
{
	for (int i = 0; i < ROUNDS; i++) {
		struct ibv_pd *own = ibv_alloc_pd(context), *shared = ibv_import_pd(context, pd->handle);
		struct ibv_mr *region;

		MUST(own && shared);
		region = ibv_reg_mr(shared, buffer, PAGE, IBV_ACCESS_LOCAL_WRITE);
		MUST(region && ibv_dereg_mr(region) == 0);
		ibv_unimport_pd(shared);
		MUST(ibv_dealloc_pd(own) == 0);
	}
	return unused;
}

int main(void)
{
	actors();
	start_company();
	share_with_all();
	others(imports, ask(company[0], allocs, 0));
	at_once(works, 0);
	others(unimports, 0);
	MUST(ask(company[0], deallocs, 0) == 0);
	everyone(closes, 0);
	return end_company(0);
}
