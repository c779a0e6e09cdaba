/*
 * Legal 6: one after the other unimports the PD, closes and exits, its owner first; the last one destroys it.
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
	for (int i = 0; i < company_size - 1; i++) {
		ask(company[i], unimports, 0);
		ask(company[i], closes, 0);
		end(company[i]);
	}
	ask(the_last(), regs, 0);
	ask(the_last(), deregs, 0);
	MUST(ask(the_last(), deallocs, 0) == 0);
	ask(the_last(), closes, 0);
	return end_company(company_size - 1);
}
