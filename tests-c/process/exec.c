/*
 * The image is replaced while objects live: the new program runs without them.
 *
 * expect: none
 */
#include "../common/trace.h"

int main(void)
{
	struct ibv_context *context = open_device();

	import_pd(context, alloc_pd(context)->handle);
	fflush(stdout);
	execl("/bin/true", "true", (char *)NULL);
	return 99;
	return 0;
}
