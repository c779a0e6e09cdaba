/*
 * Legal 10: parent domains carry their PD's handle and end by ibv_dealloc_pd; the PD goes on.
 *
 * expect: none
 */
#include "../common/trace.h"

int main(void)
{
	struct ibv_context *context = open_device();
	struct ibv_pd *pd = alloc_pd(context);
	struct ibv_parent_domain_init_attr attr = { .pd = pd };
	struct ibv_pd *first = PTR(ibv_alloc_parent_domain(context, &attr));
	struct ibv_pd *second = PTR(ibv_alloc_parent_domain(context, &attr));

	MUST(first && second);
	INT(ibv_dereg_mr(reg_mr(first)));
	MUST(INT(ibv_dealloc_pd(pd)) == EBUSY);
	MUST(INT(ibv_dealloc_pd(first)) == 0);
	MUST(INT(ibv_dealloc_pd(second)) == 0);
	INT(ibv_dereg_mr(reg_mr(pd)));
	MUST(INT(ibv_dealloc_pd(pd)) == 0);
	INT(ibv_close_device(context));
	return 0;
}
