/*
 * Legal 2: the owner destroys the PD, exits, and is gone when the others unimport.
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
	MUST(ask(company[0], deallocs, 0) == 0);
	ask(company[0], closes, 0);
	end(company[0]);
	others(unimports, 0);
	others(closes, 0);
	return end_company(1);
}
