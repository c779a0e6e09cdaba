/*
 * Nothing found, nothing said.
 *
 * log: file
 */
#include "../common/trace.h"

int main(void)
{
	struct ibv_context *context = open_device();

	INT(ibv_dealloc_pd(alloc_pd(context)));
	INT(ibv_close_device(context));
	return 0;
}
