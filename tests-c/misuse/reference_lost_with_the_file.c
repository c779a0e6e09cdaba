/*
 * The same where the device file ends too: nothing stays behind in the kernel, only memory here.
 *
 * expect: warning reference-lost in ibv_close_device
 */
#include "../common/trace.h"

int main(void)
{
	struct ibv_context *context = open_device();

	alloc_pd(context);
	INT(ibv_close_device(context));
	return 0;
}
