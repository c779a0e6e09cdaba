/*
 * Legal 7: the owner's dealloc is refused as long as anybody has a region on the PD, and succeeds in the end.
 *
 * actors: 2, 3, 10
 * expect: none
 */
#include "company.h"

int main(void)
{
	actors();
	start_company();
	share_with_all();
	others(imports, ask(company[0], allocs, 0));
	everyone(regs, 0);
	MUST(ask(company[0], deallocs, 0) == EBUSY);
	for (int i = 1; i < company_size; i++) {
		ask(company[i], deregs, 0);
		ask(company[i], unimports, 0);
		MUST(ask(company[0], deallocs, 0) == EBUSY);
	}
	ask(company[0], deregs, 0);
	MUST(ask(company[0], deallocs, 0) == 0);
	everyone(closes, 0);
	return end_company(0);
}
