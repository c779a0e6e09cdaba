/*
 * nearly: fd-imported-without-dup
 * expect: none
 */
#include "../common/trace.h"

int main(void)
{
	struct ibv_context *first = open_device();
	struct ibv_context *second = share(first);

	INT(ibv_close_device(second));
	INT(ibv_close_device(first));
	return 0;
}
