/*
 * expect: error umem-released-twice in mlx5dv_devx_umem_dereg (umem) refused
 * parity: no, the second call reads and frees the struct again
 */
#include "../common/trace.h"

int main(void)
{
	struct ibv_context *context = open_device();
	struct mlx5dv_devx_umem *umem = reg_umem(context);

	MUST(INT(mlx5dv_devx_umem_dereg(umem)) == 0);
	MUST(INT(mlx5dv_devx_umem_dereg(umem)) == EINVAL);
	INT(ibv_close_device(context));
	return 0;
}
