/* Opened by deepbind.c: a library that is linked with libibverbs. */
#include <infiniband/verbs.h>

void plugin_unimport_pd(struct ibv_pd *pd);
void *plugin_address(void);

void plugin_unimport_pd(struct ibv_pd *pd)
{
	ibv_unimport_pd(pd);
}

static void (*volatile address)(struct ibv_pd *) = ibv_unimport_pd;

void *plugin_address(void)
{
	return (void *)address;
}
