/* Linked with the guard, and calls nothing of its own: must start with the guard, with the stub and without either. */
#include "../common/trace.h"

int main(void)
{
	struct ibv_context *context = open_device();
	struct ibv_pd *pd = alloc_pd(context);

	VOID(ibv_unimport_pd(import_pd(context, pd->handle)));
	/* The finding that shows that the guard is there: a warning, so that the same program is right without it. */
	VOID(ibv_unimport_pd(pd));
	INT(ibv_close_device(context));
	return 0;
}
