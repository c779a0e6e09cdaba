/*
 * Legal 3, for UMEMs: everyone imports it many times, also its owner in the context that has it.
 *
 * needs: 63
 * actors: 2, 3, 10
 * expect: none
 */
#define NEEDS_UMEM_EXPORT
#include "company.h"

#define TIMES 5

static struct mlx5dv_devx_umem *imported[TIMES];

static long imports_often(long unused)
{
	for (int i = 0; i < TIMES; i++)
		imported[i] = import_umem(context, blob);
	return unused;
}

static long unimports_all(long unused)
{
	for (int i = 0; i < TIMES; i++)
		VOID(mlx5dv_devx_umem_unimport(imported[i]));
	return unused;
}

int main(void)
{
	actors();
	start_company();
	share_with_all();
	ask(company[0], regs_umem, 0);
	ask(company[0], exports_umem, 0);
	everyone(imports_often, 0);
	everyone(unimports_all, 0);
	MUST(ask(company[0], deregs_umem, 0) == 0);
	everyone(closes, 0);
	return end_company(0);
}
