/*
 * What the guard sees of other providers it judges as it does of mlx5: a PD is left when its context is closed, and ends
 * with its device file.
 *
 * expect: warning reference-lost in ibv_close_device
 */
#include "rxe.h"

int main(void)
{
	struct ibv_context *context = open_rxe();

	alloc_pd(context);
	INT(ibv_close_device(context));
	return 0;
}
