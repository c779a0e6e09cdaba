/*
 * Legal 11: small, unaligned, overlapping, with no access at all, unmapped before their end.
 *
 * expect: none
 */
#include "../common/trace.h"

int main(void)
{
	struct ibv_context *context = open_device();
	char *page = lone_page(PROT_READ | PROT_WRITE);
	struct mlx5dv_devx_umem *umems[] = {
		PTR(mlx5dv_devx_umem_reg(context, buffer + 1, 8, IBV_ACCESS_LOCAL_WRITE)),
		PTR(mlx5dv_devx_umem_reg(context, buffer + 1, 8, IBV_ACCESS_LOCAL_WRITE)),
		PTR(mlx5dv_devx_umem_reg(context, buffer + PAGE - 1, 2, 0)),
		PTR(mlx5dv_devx_umem_reg(context, page, PAGE, 0)),
	};

	MUST(munmap(page, PAGE) == 0);
	for (int i = 0; i < 4; i++)
		MUST(umems[i] && INT(mlx5dv_devx_umem_dereg(umems[i])) == 0);
	INT(ibv_close_device(context));
	return 0;
}
