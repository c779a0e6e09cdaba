/*
 * The only reference to an allocated PD is unimported: the struct is freed, the kernel object stays.
 *
 * expect: warning unimport-of-owned in ibv_unimport_pd (pd) forwarded
 */
#include "../common/trace.h"

int main(void)
{
	struct ibv_context *context = open_device();
	struct ibv_pd *pd = alloc_pd(context);

	VOID(ibv_unimport_pd(pd));
	INT(ibv_close_device(context));
	return 0;
}
