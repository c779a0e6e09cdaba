/*
 * A context is closed with a CQ and a channel in it.
 *
 * expect: note children-left in ibv_close_device
 */
#include "../common/queues.h"

int main(void)
{
	struct ibv_context *context = open_device();

	create_cq(context);
	MUST(PTR(ibv_create_comp_channel(context)));
	INT(ibv_close_device(context));
	return 0;
}
