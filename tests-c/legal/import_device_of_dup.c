/*
 * Legal 4: many contexts on one device file, closed in any order; an import of an import.
 *
 * expect: none
 */
#include "../common/trace.h"

int main(void)
{
	struct ibv_context *context = open_device();
	struct ibv_context *second = share(context);
	struct ibv_context *third = share(second);

	INT(ibv_close_device(context));
	INT(ibv_dealloc_pd(alloc_pd(third)));
	INT(ibv_close_device(third));
	INT(ibv_close_device(second));
	return 0;
}
