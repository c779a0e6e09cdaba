/*
 * Address handles and keys are no kernel's on this device: their PD can go first, also the domain that they were made
 * through, and nothing reads it later.
 *
 * expect: none
 * lab: no, the stand-in driver has no null regions
 */
#include "../common/every_child.h"

int main(void)
{
	struct ibv_context *context = open_device();
	struct ibv_pd *pd = alloc_pd(context), *domain = alloc_parent_domain(pd);
	struct ibv_ah *ah = create_ah(pd), *through = create_ah(domain);
	struct ibv_mr *null = PTR(ibv_alloc_null_mr(domain));

	MUST(null);
	MUST(INT(ibv_dealloc_pd(domain)) == 0);
	MUST(INT(ibv_dealloc_pd(pd)) == 0);
	MUST(INT(ibv_dereg_mr(null)) == 0);
	MUST(INT(ibv_destroy_ah(through)) == 0);
	MUST(INT(ibv_destroy_ah(ah)) == 0);
	INT(ibv_close_device(context));
	return 0;
}
