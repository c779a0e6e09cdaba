/*
 * Legal 9: everyone exits with all that it holds, and the device file ends with the last one.
 *
 * actors: 2, 3, 10
 * expect: none
 */
#include "company.h"

static long holds_its_own(long unused)
{
	struct ibv_context *own = open_device();

	import_pd(own, alloc_pd(own)->handle);
	reg_umem(own);
	return unused;
}

int main(void)
{
	actors();
	start_company();
	share_with_all();
	others(imports, ask(company[0], allocs, 0));
	everyone(holds_its_own, 0);
	return end_company(0);
}
