/*
 * Findings are for other programs: here the guard only forwards.
 *
 * options: only=another*
 * expect: none
 */
#include "../common/trace.h"

int main(void)
{
	struct ibv_context *context = open_device();

	VOID(ibv_unimport_pd(alloc_pd(context)));
	INT(ibv_close_device(context));
	return 0;
}
