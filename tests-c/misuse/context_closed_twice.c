/*
 * expect: error context-closed-twice in ibv_close_device (context) refused
 * parity: no, the real library reads freed memory
 */
#include "../common/trace.h"

int main(void)
{
	struct ibv_context *context = open_device();

	INT(ibv_close_device(context));
	MUST(INT(ibv_close_device(context)) == -1 && errno == EINVAL);
	return 0;
}
