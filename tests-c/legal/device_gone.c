/*
 * Legal pattern 14: the device is gone; creating calls fail with EIO, destroys succeed once, then answer ENOENT. The
 * program cleans up as well as it can.
 *
 * expect: none
 */
#include "../common/trace.h"
#include "../common/emu.h"

int main(void)
{
	struct ibv_context *context = open_device();
	struct ibv_pd *pd = alloc_pd(context);
	struct ibv_pd *imported = import_pd(context, pd->handle);

	remove_device();
	PTR(ibv_alloc_pd(context));
	PTR(ibv_import_pd(context, pd->handle));
	INT(ibv_dealloc_pd(pd));
	VOID(ibv_unimport_pd(imported));
	INT(ibv_close_device(context));
	return 0;
}
