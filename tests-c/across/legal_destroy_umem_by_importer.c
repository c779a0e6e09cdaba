/*
 * Legal 1, for UMEMs: an importer destroys it, and everyone else unimports it, its owner too.
 *
 * needs: 63
 * actors: 2, 3, 10
 * expect: none
 */
#define NEEDS_UMEM_EXPORT
#include "company.h"

int main(void)
{
	actors();
	start_company();
	share_with_all();
	ask(company[0], regs_umem, 0);
	ask(company[0], exports_umem, 0);
	others(imports_umem, 0);
	MUST(ask(the_last(), deregs_umem, 0) == 0);
	for (int i = 0; i < company_size - 1; i++)
		ask(company[i], unimports_umem, 0);
	everyone(closes, 0);
	return end_company(0);
}
