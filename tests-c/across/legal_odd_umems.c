/*
 * Legal 11: small, unaligned and overlapping UMEMs without access rights, whose memory is gone before they are; each is
 * passed on to the next process.
 *
 * needs: 63
 * actors: 2, 3, 10
 * expect: none
 */
#define NEEDS_UMEM_EXPORT
#include "company.h"

#define ODD 4

static struct mlx5dv_devx_umem *odd[ODD];

static long exports_odd(long which)
{
	char *page = lone_page(PROT_READ | PROT_WRITE);

	switch (which) {
	case 0:
	case 1:
		odd[which] = PTR(mlx5dv_devx_umem_reg(context, buffer + 1, 8, IBV_ACCESS_LOCAL_WRITE));
		break;
	case 2:
		odd[which] = PTR(mlx5dv_devx_umem_reg(context, buffer + PAGE - 1, 2, 0));
		break;
	default:
		odd[which] = PTR(mlx5dv_devx_umem_reg(context, page, PAGE, 0));
	}
	MUST(odd[which]);
	MUST(munmap(page, PAGE) == 0);
	blob = export_umem(odd[which]);
	return 0;
}

static long uses(long unused)
{
	VOID(mlx5dv_devx_umem_unimport(import_umem(context, blob)));
	return unused;
}

static long deregs_all(long unused)
{
	for (int i = 0; i < ODD; i++)
		MUST(INT(mlx5dv_devx_umem_dereg(odd[i])) == 0);
	return unused;
}

int main(void)
{
	actors();
	start_company();
	share_with_all();
	for (int i = 0; i < company_size; i++)
		for (int which = 0; which < ODD; which++) {
			ask(company[i], exports_odd, which);
			ask(company[(i + 1) % company_size], uses, 0);
		}
	everyone(deregs_all, 0);
	everyone(closes, 0);
	return end_company(0);
}
