/*
 * Legal 12: a provider that does not support the sharing of UMEMs. Everyone is told so, and goes on.
 *
 * actors: 2, 3, 10
 * below: 63
 * parity: no, without the guard the functions are not there
 * expect: none
 */
#include "company.h"

#include <dlfcn.h>

static void *function(const char *name)
{
	void *found = dlsym(RTLD_DEFAULT, name);

	MUST(found);
	return found;
}

static long tries(long unused)
{
	int (*export)(struct mlx5dv_devx_umem *, void *);
	struct mlx5dv_devx_umem *(*import)(struct ibv_context *, void *);
	void (*unimport)(struct mlx5dv_devx_umem *);
	char data[64] = "";

	*(void **)&export = function("mlx5dv_devx_umem_export");
	*(void **)&import = function("mlx5dv_devx_umem_import");
	*(void **)&unimport = function("mlx5dv_devx_umem_unimport");
	umem = reg_umem(context);
	MUST(INT(export(umem, data)) == EOPNOTSUPP);
	MUST(!PTR(import(context, data)) && errno == EOPNOTSUPP);
	/* Does nothing. */
	VOID(unimport(umem));
	MUST(INT(mlx5dv_devx_umem_dereg(umem)) == 0);
	return unused;
}

int main(void)
{
	actors();
	start_company();
	share_with_all();
	everyone(tries, 0);
	everyone(closes, 0);
	return end_company(0);
}
