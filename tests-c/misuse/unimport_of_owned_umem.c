/*
 * needs: 63
 * expect: warning unimport-of-owned in mlx5dv_devx_umem_unimport (umem) forwarded
 */
#define NEEDS_UMEM_EXPORT
#include "../common/trace.h"

int main(void)
{
	struct ibv_context *context = open_device();
	struct mlx5dv_devx_umem *umem = reg_umem(context);

	VOID(mlx5dv_devx_umem_unimport(umem));
	INT(ibv_close_device(context));
	return 0;
}
