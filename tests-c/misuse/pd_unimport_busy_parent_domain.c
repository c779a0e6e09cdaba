/*
 * The same with a memory region made through a parent domain that is gone.
 *
 * expect: error pd-unimport-busy in ibv_unimport_pd (pd) forwarded
 */
#include "../common/trace.h"

int main(void)
{
	struct ibv_context *context = open_device();
	struct ibv_pd *pd = alloc_pd(context);
	struct ibv_pd *imported = import_pd(context, pd->handle);
	struct ibv_parent_domain_init_attr attr = { .pd = imported };
	struct ibv_pd *domain = PTR(ibv_alloc_parent_domain(context, &attr));
	struct ibv_mr *mr;

	MUST(domain);
	mr = reg_mr(domain);
	MUST(INT(ibv_dealloc_pd(domain)) == 0);
	VOID(ibv_unimport_pd(imported));
	MUST(INT(ibv_dereg_mr(mr)) == 0);
	MUST(INT(ibv_dealloc_pd(pd)) == 0);
	INT(ibv_close_device(context));
	return 0;
}
