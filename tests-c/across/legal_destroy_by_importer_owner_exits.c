/*
 * Legal 1: an importer destroys the PD, and its owner exits without a word.
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
	MUST(ask(the_last(), deallocs, 0) == 0);
	end(company[0]);
	for (int i = 1; i < company_size - 1; i++)
		ask(company[i], unimports, 0);
	return end_company(1);
}
