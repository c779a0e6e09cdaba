/*
 * NULL where the real library would dereference it: refused in every mode but observe.
 *
 * expect: error null-argument in ibv_open_device (device) refused
 * expect: error null-argument in ibv_close_device (context) refused
 * expect: error null-argument in ibv_alloc_pd (context) refused
 * expect: error null-argument in ibv_import_pd (context) refused
 * expect: error null-argument in ibv_unimport_pd (pd) refused
 * expect: error null-argument in ibv_dealloc_pd (pd) refused
 * expect: error null-argument in mlx5dv_devx_umem_reg (ctx) refused
 * expect: error null-argument in mlx5dv_devx_umem_reg_ex (umem_in) refused
 * expect: error null-argument in mlx5dv_devx_umem_dereg (umem) refused
 * parity: no, the real library dereferences NULL
 */
#include "../common/trace.h"

int main(void)
{
	struct ibv_context *context = open_device();

	MUST(!PTR(ibv_open_device(NULL)) && errno == EINVAL);
	MUST(INT(ibv_close_device(NULL)) == -1 && errno == EINVAL);
	MUST(!PTR(ibv_alloc_pd(NULL)) && errno == EINVAL);
	MUST(!PTR(ibv_import_pd(NULL, 1)) && errno == EINVAL);
	VOID(ibv_unimport_pd(NULL));
	MUST(INT(ibv_dealloc_pd(NULL)) == EINVAL);
	MUST(!PTR(mlx5dv_devx_umem_reg(NULL, buffer, PAGE, 0)) && errno == EINVAL);
	MUST(!PTR(mlx5dv_devx_umem_reg_ex(context, NULL)) && errno == EINVAL);
	MUST(INT(mlx5dv_devx_umem_dereg(NULL)) == EINVAL);
	INT(ibv_close_device(context));
	return 0;
}
