/* The worker goes on with its imported PD after the owner has destroyed it. */
#include "demo.h"

static void owner_shuts_down(struct ibv_pd *pd)
{
	ibv_dealloc_pd(pd);
}

static void worker_registers(struct ibv_pd *shared)
{
	struct ibv_mr *mr = ibv_reg_mr(shared, buffer, sizeof(buffer), IBV_ACCESS_LOCAL_WRITE);

	if (!mr)
		perror("worker: ibv_reg_mr");
}

int main(void)
{
	struct ibv_context *owner = open_device();
	struct ibv_context *worker = open_shared(owner);
	struct ibv_pd *pd = CHECK(ibv_alloc_pd(owner));
	struct ibv_pd *shared = CHECK(ibv_import_pd(worker, pd->handle));

	owner_shuts_down(pd);
	worker_registers(shared);
	ibv_unimport_pd(shared);
	ibv_close_device(worker);
	ibv_close_device(owner);
	return 0;
}
