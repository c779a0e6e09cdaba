/*
 * The device is removed while it is open: creating calls fail with EIO, destroys work once. One note, and nothing per
 * object.
 *
 * expect: note device-gone
 */
#include "../common/trace.h"
#include "../common/emu.h"

int main(void)
{
	struct ibv_context *context = open_device();
	struct ibv_pd *pd = alloc_pd(context);
	struct ibv_pd *left = alloc_pd(context);

	remove_device();
	PTR(ibv_alloc_pd(context));
	PTR(ibv_alloc_pd(context));
	PTR(ibv_reg_mr(left, buffer, PAGE, 0));
	INT(ibv_dealloc_pd(pd));
	INT(ibv_close_device(context));
	return 0;
}
