/*
 * Everything is destroyed first; what another context has does not count.
 *
 * nearly: children-left
 * expect: no note children-left
 */
#include "../common/queues.h"

int main(void)
{
	struct ibv_context *context = open_device(), *shared = share(context);
	struct ibv_comp_channel *channel = PTR(ibv_create_comp_channel(context));
	struct ibv_cq *cq = create_cq(context), *others = create_cq(shared);

	MUST(channel);
	MUST(INT(ibv_destroy_cq(cq)) == 0);
	MUST(INT(ibv_destroy_comp_channel(channel)) == 0);
	INT(ibv_close_device(context));
	MUST(INT(ibv_destroy_cq(others)) == 0);
	INT(ibv_close_device(shared));
	return 0;
}
