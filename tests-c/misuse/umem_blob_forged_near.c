/*
 * A blob that went through other memory, as a message between processes does.
 *
 * nearly: umem-blob-forged
 * needs: 63
 * expect: none
 */
#define NEEDS_UMEM_EXPORT
#include "../common/trace.h"

int main(void)
{
	struct ibv_context *context = open_device();
	struct mlx5dv_devx_umem *umem = reg_umem(context);
	struct blob blob = export_umem(umem), *moved = malloc(sizeof(*moved));

	MUST(moved);
	memcpy(moved, &blob, sizeof(blob));
	memset(&blob, 0, sizeof(blob));
	VOID(mlx5dv_devx_umem_unimport(import_umem(context, *moved)));
	INT(mlx5dv_devx_umem_dereg(umem));
	INT(ibv_close_device(context));
	free(moved);
	return 0;
}
