/* The error path releases the imported PD, and then the common clean-up does so again. */
#include "demo.h"

static struct ibv_pd *shared;

static void teardown(void)
{
	ibv_unimport_pd(shared);
}

static int start_worker(struct ibv_context *context, uint32_t handle)
{
	shared = CHECK(ibv_import_pd(context, handle));
	if (access("/nonexistent/worker.conf", R_OK) != 0) {
		teardown();
		return -1;
	}
	return 0;
}

int main(void)
{
	struct ibv_context *context = open_device();
	struct ibv_pd *pd = CHECK(ibv_alloc_pd(context));

	if (start_worker(context, pd->handle) != 0)
		printf("worker did not start, cleaning up\n");
	teardown();
	ibv_dealloc_pd(pd);
	ibv_close_device(context);
	return 0;
}
