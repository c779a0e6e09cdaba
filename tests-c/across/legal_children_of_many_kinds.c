/*
 * Legal 10: parent domains, memory windows made by inline verbs, and regions seen by several symbols, on a PD that
 * everyone shares.
 *
 * actors: 2, 3, 10
 * expect: none
 */
#include "company.h"

static struct ibv_mw *window;

static long has_a_window(long unused)
{
	window = PTR(ibv_alloc_mw(pd, IBV_MW_TYPE_1));
	MUST(window);
	return unused;
}

static long has_none(long unused)
{
	MUST(INT(ibv_dealloc_mw(window)) == 0);
	return unused;
}

static long has_a_domain(long unused)
{
	struct ibv_parent_domain_init_attr attr = { .pd = pd };
	struct ibv_pd *domain = PTR(ibv_alloc_parent_domain(context, &attr));

	MUST(domain);
	INT(ibv_dereg_mr(reg_mr(domain)));
	MUST(INT(ibv_dealloc_pd(domain)) == 0);
	return unused;
}

static long has_regions(long unused)
{
	int access = getpid() ? IBV_ACCESS_LOCAL_WRITE : 0; /* not constant: the header then picks ibv_reg_mr_iova2 */
	struct ibv_mr *plain = reg_mr(pd), *variable = PTR(ibv_reg_mr(pd, buffer, PAGE, access)), *imported;

	MUST(variable);
	imported = PTR(ibv_import_mr(pd, plain->handle));
	MUST(imported);
	VOID(ibv_unimport_mr(imported));
	INT(ibv_dereg_mr(variable));
	INT(ibv_dereg_mr(plain));
	return unused;
}

int main(void)
{
	actors();
	start_company();
	share_with_all();
	others(imports, ask(company[0], allocs, 0));
	everyone(has_a_window, 0);
	MUST(ask(company[0], deallocs, 0) == EBUSY);
	everyone(has_none, 0);
	everyone(has_a_domain, 0);
	everyone(has_regions, 0);
	others(unimports, 0);
	MUST(ask(company[0], deallocs, 0) == 0);
	everyone(closes, 0);
	return end_company(0);
}
