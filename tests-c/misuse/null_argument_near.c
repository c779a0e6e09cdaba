/*
 * Unimport of no UMEM is free(NULL): noted, no error.
 *
 * nearly: null-argument
 * needs: 63
 * expect: note null-argument in mlx5dv_devx_umem_unimport (umem) forwarded
 */
#define NEEDS_UMEM_EXPORT
#include "../common/trace.h"

int main(void)
{
	struct ibv_context *context = open_device();

	VOID(mlx5dv_devx_umem_unimport(NULL));
	INT(ibv_close_device(context));
	return 0;
}
