/*
 * A provider older than rdma-core 63 has no UMEM export. The guard exports the name, and answers as unsupported.
 *
 * below: 63
 * expect: note provider-lacks in mlx5dv_devx_umem_export
 * parity: no, without the guard the function is not there
 */
#include "../common/trace.h"

#include <dlfcn.h>

int main(void)
{
	struct ibv_context *context = open_device();
	struct mlx5dv_devx_umem *umem = reg_umem(context);
	int (*export)(struct mlx5dv_devx_umem *, void *);
	char blob[64];

	*(void **)&export = dlsym(RTLD_DEFAULT, "mlx5dv_devx_umem_export");
	MUST(export);
	MUST(INT(export(umem, blob)) == EOPNOTSUPP);
	MUST(INT(export(umem, blob)) == EOPNOTSUPP);
	INT(mlx5dv_devx_umem_dereg(umem));
	INT(ibv_close_device(context));
	return 0;
}
