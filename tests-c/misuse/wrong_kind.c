/*
 * Pointers to live objects of another kind.
 *
 * expect: error wrong-kind in ibv_unimport_pd (pd) refused
 * expect: error wrong-kind in ibv_dealloc_pd (pd) refused
 * expect: error wrong-kind in ibv_dealloc_pd (pd) refused
 * expect: error wrong-kind in mlx5dv_devx_umem_dereg (umem) refused
 * expect: error wrong-kind in ibv_dereg_mr (mr) refused
 * expect: error wrong-kind in ibv_reg_mr (pd) refused
 * parity: no, the real library would treat one struct as another
 */
#include "../common/trace.h"

int main(void)
{
	struct ibv_context *context = open_device();
	struct ibv_pd *pd = alloc_pd(context);
	struct ibv_mr *mr = reg_mr(pd);
	struct mlx5dv_devx_umem *umem = reg_umem(context);

	VOID(ibv_unimport_pd((struct ibv_pd *)mr));
	MUST(INT(ibv_dealloc_pd((struct ibv_pd *)umem)) == EINVAL);
	MUST(INT(ibv_dealloc_pd((struct ibv_pd *)context)) == EINVAL);
	MUST(INT(mlx5dv_devx_umem_dereg((struct mlx5dv_devx_umem *)pd)) == EINVAL);
	MUST(INT(ibv_dereg_mr((struct ibv_mr *)pd)) == EINVAL);
	MUST(!PTR(ibv_reg_mr((struct ibv_pd *)umem, buffer, PAGE, 1)) && errno == EINVAL);
	INT(mlx5dv_devx_umem_dereg(umem));
	INT(ibv_dereg_mr(mr));
	INT(ibv_dealloc_pd(pd));
	INT(ibv_close_device(context));
	return 0;
}
