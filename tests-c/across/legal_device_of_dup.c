/*
 * Legal 4: everyone imports a dup of the descriptor it has, and uses the PD through either context.
 *
 * actors: 2, 3, 10
 * expect: none
 */
#include "company.h"

static long shares_with_itself(long handle)
{
	struct ibv_context *second = share(context);
	struct ibv_pd *imported = import_pd(second, handle), *own = alloc_pd(second);

	INT(ibv_dereg_mr(reg_mr(imported)));
	VOID(ibv_unimport_pd(imported));
	MUST(INT(ibv_dealloc_pd(own)) == 0);
	MUST(INT(ibv_close_device(second)) == 0);
	return 0;
}

int main(void)
{
	long handle;

	actors();
	start_company();
	share_with_all();
	handle = ask(company[0], allocs, 0);
	others(imports, handle);
	everyone(shares_with_itself, handle);
	others(unimports, 0);
	MUST(ask(company[0], deallocs, 0) == 0);
	everyone(closes, 0);
	return end_company(0);
}
