/*
 * Legal 15, for UMEMs: everyone at once registers and exports its own, and imports and releases one that all share.
 *
 * needs: 63
 * actors: 2, 3, 10
 * expect: none
 */
#define NEEDS_UMEM_EXPORT
#include "company.h"

#define ROUNDS 100

static long works(long unused)
{
	struct blob shared = blob;

	for (int i = 0; i < ROUNDS; i++) {
		struct mlx5dv_devx_umem *own = mlx5dv_devx_umem_reg(context, buffer, PAGE, 1);
		struct mlx5dv_devx_umem *imported = mlx5dv_devx_umem_import(context, &shared);
		struct blob of_own;

		MUST(own && imported && mlx5dv_devx_umem_export(own, &of_own) == 0);
		mlx5dv_devx_umem_unimport(imported);
		MUST(mlx5dv_devx_umem_dereg(own) == 0);
	}
	blob = shared;
	return unused;
}

int main(void)
{
	actors();
	start_company();
	share_with_all();
	ask(company[0], regs_umem, 0);
	ask(company[0], exports_umem, 0);
	at_once(works, 0);
	MUST(ask(company[0], deregs_umem, 0) == 0);
	everyone(closes, 0);
	return end_company(0);
}
