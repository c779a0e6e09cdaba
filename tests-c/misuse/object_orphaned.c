/*
 * The last reference to a PD is gone, the PD is not: only the last close of the device file will free it.
 *
 * expect: warning unimport-of-owned in ibv_unimport_pd
 * expect: error object-orphaned in ibv_close_device
 */
#include "../common/trace.h"

int main(void)
{
	struct ibv_context *context = open_device();
	struct ibv_context *other = share(context);

	VOID(ibv_unimport_pd(alloc_pd(context)));
	INT(ibv_close_device(context));
	INT(ibv_close_device(other));
	return 0;
}
