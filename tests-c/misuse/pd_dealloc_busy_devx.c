/*
 * The program was told a PD's number, so a DEVX object may be what keeps it.
 *
 * log: stderr
 * options: verbose=1
 * parity: no, the report is on stderr
 * shows: pd-dealloc-busy in ibv_dealloc_pd(pd)
 * shows: what keeps it is not known
 * shows: it may be a DEVX child too, for mlx5dv_init_obj told the program this PD's number
 * exit: 0
 * lab: no, only the emulated device fails a request at will
 */
#include "../common/queues.h"
#include "../common/emu.h"

int main(void)
{
	struct ibv_context *context = open_device();
	struct ibv_pd *pd = alloc_pd(context);
	struct mlx5dv_pd inside = { 0 };
	struct mlx5dv_obj obj = { .pd = { pd, &inside } };

	MUST(INT(mlx5dv_init_obj(&obj, MLX5DV_OBJ_PD)) == 0);
	emu_control("{\"op\":\"fail\",\"kind\":\"dealloc_pd\",\"errno\":16}");
	MUST(INT(ibv_dealloc_pd(pd)) == EBUSY);
	MUST(INT(ibv_dealloc_pd(pd)) == 0);
	INT(ibv_close_device(context));
	return 0;
}
