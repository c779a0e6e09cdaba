/*
 * Legal 13: everyone closes the context that it imported the UMEM into, and unimports after that.
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
	others(closes, 0);
	others(unimports_umem, 0);
	MUST(ask(company[0], deregs_umem, 0) == 0);
	ask(company[0], closes, 0);
	return end_company(0);
}
