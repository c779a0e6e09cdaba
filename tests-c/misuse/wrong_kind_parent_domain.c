/*
 * A parent domain cannot be unimported.
 *
 * expect: error wrong-kind in ibv_unimport_pd (pd) refused
 * parity: no, the real library frees what is still in use
 */
#include "../common/trace.h"

int main(void)
{
	struct ibv_context *context = open_device();
	struct ibv_pd *pd = alloc_pd(context);
	struct ibv_parent_domain_init_attr attr = { .pd = pd };
	struct ibv_pd *domain = PTR(ibv_alloc_parent_domain(context, &attr));

	MUST(domain);
	VOID(ibv_unimport_pd(domain));
	MUST(INT(ibv_dealloc_pd(domain)) == 0);
	MUST(INT(ibv_dealloc_pd(pd)) == 0);
	INT(ibv_close_device(context));
	return 0;
}
