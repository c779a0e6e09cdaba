/*
 * Legal 9: the device file ends with the process, and the kernel reclaims everything.
 *
 * expect: none
 */
#include "../common/trace.h"

int main(void)
{
	struct ibv_context *context = open_device();
	struct ibv_pd *pd = alloc_pd(context);

	reg_mr(import_pd(share(context), pd->handle));
	reg_umem(context);
	return 0;
}
