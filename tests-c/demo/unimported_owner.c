/* The owner ends with unimport where dealloc belongs: the struct is freed, the kernel's PD stays. */
#include "demo.h"

static void serve_one(struct ibv_context *context)
{
	struct ibv_pd *pd = CHECK(ibv_alloc_pd(context));

	ibv_unimport_pd(pd);
}

int main(void)
{
	struct ibv_context *server = open_device();
	struct ibv_context *monitor = open_shared(server);

	for (int i = 0; i < 2; i++)
		serve_one(server);
	printf("served 2 requests\n");
	ibv_close_device(server);
	/* The monitor keeps the device file, and with it both PDs. */
	ibv_close_device(monitor);
	return 0;
}
