/*
 * A parent domain holds the PD: the provider ignores the unimport, and the reference stays.
 *
 * expect: warning unimport-failed-silently in ibv_unimport_pd (pd) forwarded
 */
#include "../common/trace.h"

int main(void)
{
	struct ibv_context *context = open_device();
	struct ibv_pd *pd = alloc_pd(context);
	struct ibv_pd *imported = import_pd(context, pd->handle);
	struct ibv_parent_domain_init_attr attr = { .pd = imported };
	struct ibv_pd *domain = PTR(ibv_alloc_parent_domain(context, &attr));

	MUST(domain);
	VOID(ibv_unimport_pd(imported));
	MUST(INT(ibv_dealloc_pd(domain)) == 0);
	VOID(ibv_unimport_pd(imported));
	MUST(INT(ibv_dealloc_pd(pd)) == 0);
	INT(ibv_close_device(context));
	return 0;
}
