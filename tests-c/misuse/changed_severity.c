/*
 * options: severity=unimport-of-owned=error
 * expect: error unimport-of-owned in ibv_unimport_pd
 */
#include "../common/trace.h"

int main(void)
{
	struct ibv_context *context = open_device();

	VOID(ibv_unimport_pd(alloc_pd(context)));
	INT(ibv_close_device(context));
	return 0;
}
