/*
 * Legal 5: the UMEM is exported again and again, also by its importers, one of which passes it on to the next; another
 * one is exported and never imported.
 *
 * needs: 63
 * actors: 2, 3, 10
 * expect: none
 */
#define NEEDS_UMEM_EXPORT
#include "company.h"

static long exports_often(long unused)
{
	for (int i = 0; i < 3; i++)
		blob = export_umem(umem);
	return unused;
}

static long exports_in_vain(long unused)
{
	struct mlx5dv_devx_umem *second = reg_umem(context);

	export_umem(second);
	MUST(INT(mlx5dv_devx_umem_dereg(second)) == 0);
	return unused;
}

int main(void)
{
	actors();
	start_company();
	share_with_all();
	ask(company[0], regs_umem, 0);
	ask(company[0], exports_often, 0);
	for (int i = 1; i < company_size; i++) {
		ask(company[i], imports_umem, 0);
		ask(company[i], exports_often, 0);
	}
	ask(company[0], exports_in_vain, 0);
	others(unimports_umem, 0);
	MUST(ask(company[0], deregs_umem, 0) == 0);
	everyone(closes, 0);
	return end_company(0);
}
