/* For the programs that run on the kernel's rxe device. */
#include "../common/trace.h"

static struct ibv_context *open_rxe(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context = NULL;

	MUST(list);
	for (int i = 0; list[i]; i++)
		if (strcmp(ibv_get_device_name(list[i]), "rxe0") == 0)
			context = PTR(ibv_open_device(list[i]));
	MUST(context);
	ibv_free_device_list(list);
	return context;
}
