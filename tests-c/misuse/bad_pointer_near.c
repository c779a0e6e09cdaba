/*
 * A blob in the last bytes of a page, then read from memory that is read-only.
 *
 * nearly: bad-pointer
 * needs: 63
 * expect: none
 */
#define NEEDS_UMEM_EXPORT
#include "../common/trace.h"

int main(void)
{
	struct ibv_context *context = open_device();
	struct mlx5dv_devx_umem *umem = reg_umem(context), *imported;
	struct mlx5dv_export_sizes sizes;
	char *page = lone_page(PROT_READ | PROT_WRITE), *data;

	mlx5dv_get_export_sizes(&sizes);
	data = page + PAGE - sizes.devx_umem_attrs_size;
	MUST(INT(mlx5dv_devx_umem_export(umem, data)) == 0);
	MUST(mprotect(page, PAGE, PROT_READ) == 0);
	imported = PTR(mlx5dv_devx_umem_import(context, data));
	MUST(imported);
	VOID(mlx5dv_devx_umem_unimport(imported));
	INT(mlx5dv_devx_umem_dereg(umem));
	INT(ibv_close_device(context));
	return 0;
}
