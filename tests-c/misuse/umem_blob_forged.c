/*
 * Bytes that no export wrote.
 *
 * needs: 63
 * expect: error umem-blob-forged in mlx5dv_devx_umem_import (data) forwarded
 */
#define NEEDS_UMEM_EXPORT
#include "../common/trace.h"

int main(void)
{
	struct ibv_context *context = open_device();
	struct blob blob;

	memset(&blob, 0x5a, sizeof(blob));
	VOID(mlx5dv_devx_umem_unimport(import_umem(context, blob)));
	INT(ibv_close_device(context));
	return 0;
}
