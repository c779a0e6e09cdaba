/*
 * An export to memory that cannot be written, an import from memory that cannot be read.
 *
 * needs: 63
 * expect: error bad-pointer in mlx5dv_devx_umem_export (data) refused
 * expect: error bad-pointer in mlx5dv_devx_umem_export (data) refused
 * expect: error bad-pointer in mlx5dv_devx_umem_import (data) refused
 * parity: no, the real library would fault
 */
#define NEEDS_UMEM_EXPORT
#include "../common/trace.h"

int main(void)
{
	struct ibv_context *context = open_device();
	struct mlx5dv_devx_umem *umem = reg_umem(context);
	char *read_only = lone_page(PROT_READ);
	char *nothing = lone_page(PROT_NONE);

	MUST(INT(mlx5dv_devx_umem_export(umem, read_only)) == EFAULT);
	/* Starts well, ends beyond the page. */
	MUST(INT(mlx5dv_devx_umem_export(umem, lone_page(PROT_READ | PROT_WRITE) + PAGE - 1)) == EFAULT);
	MUST(!PTR(mlx5dv_devx_umem_import(context, nothing)) && errno == EFAULT);
	INT(mlx5dv_devx_umem_dereg(umem));
	INT(ibv_close_device(context));
	return 0;
}
