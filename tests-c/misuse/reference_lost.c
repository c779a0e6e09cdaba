/*
 * A context is closed before the PD that was imported into it is released; the device file lives on.
 *
 * expect: error reference-lost in ibv_close_device
 */
#include "../common/trace.h"

int main(void)
{
	struct ibv_context *context = open_device();
	struct ibv_context *other = share(context);
	struct ibv_pd *pd = alloc_pd(context);

	import_pd(other, pd->handle);
	INT(ibv_close_device(other));
	INT(ibv_dealloc_pd(pd));
	INT(ibv_close_device(context));
	return 0;
}
