/*
 * Queues are made and destroyed in the right order, twice, through a parent domain too; nothing is left of them.
 *
 * expect: none
 * expect: no note children-left
 * expect: no note pd-dealloc-busy
 */
#include "../common/queues.h"

static void once(struct ibv_context *context)
{
	struct ibv_pd *pd = alloc_pd(context), *domain = alloc_parent_domain(pd);
	struct ibv_comp_channel *channel = PTR(ibv_create_comp_channel(context));
	struct ibv_cq *cq = PTR(ibv_create_cq(context, 16, NULL, channel, 0));
	struct ibv_srq *srq = create_srq(domain);
	struct ibv_qp *qp = create_qp(pd, cq), *through = create_qp(domain, cq);
	struct ibv_mw *mw = alloc_mw(pd), *second = alloc_mw(domain);

	MUST(INT(ibv_dealloc_mw(mw)) == 0);
	MUST(INT(ibv_dealloc_mw(second)) == 0);
	MUST(INT(ibv_destroy_qp(through)) == 0);
	MUST(INT(ibv_destroy_qp(qp)) == 0);
	MUST(INT(ibv_destroy_srq(srq)) == 0);
	MUST(INT(ibv_destroy_cq(cq)) == 0);
	MUST(INT(ibv_destroy_comp_channel(channel)) == 0);
	MUST(INT(ibv_dealloc_pd(domain)) == 0);
	MUST(INT(ibv_dealloc_pd(pd)) == 0);
}

int main(void)
{
	struct ibv_context *context = open_device(), *shared = share(context);

	once(context);
	once(shared);
	once(context);
	INT(ibv_close_device(shared));
	INT(ibv_close_device(context));
	return 0;
}
