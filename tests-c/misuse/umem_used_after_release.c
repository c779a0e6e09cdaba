/*
 * needs: 63
 * expect: error umem-used-after-release in mlx5dv_devx_umem_export (umem) refused
 * parity: no, the real library reads freed memory
 */
#define NEEDS_UMEM_EXPORT
#include "../common/trace.h"

int main(void)
{
	struct ibv_context *context = open_device();
	struct mlx5dv_devx_umem *umem = reg_umem(context);
	struct blob blob;

	INT(mlx5dv_devx_umem_dereg(umem));
	MUST(INT(mlx5dv_devx_umem_export(umem, &blob)) == EINVAL);
	INT(ibv_close_device(context));
	return 0;
}
