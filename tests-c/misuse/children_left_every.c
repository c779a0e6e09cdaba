/*
 * A context is closed with one of each kind in it: all are counted.
 *
 * log: stderr
 * options: verbose=1
 * parity: no, the report is on stderr
 * shows: NOTE: verbsguard: children-left in ibv_close_device
 * shows: was closed with 1 mr, 1 null mr, 2 ahs, 2 wqs, 1 mkey, 3 cqs, 1 dm, 1 counters object, 1 td, 1 xrcd,
 * shows: 1 indirection table, 1 uar, 1 var, 1 packet pacing entry, 1 DEVX object in it
 * exit: 0
 * lab: no, the stand-in driver has no work queues
 */
#include "../common/every_child.h"

int main(void)
{
	struct ibv_context *context = open_device();
	struct ibv_pd *pd = alloc_pd(context);
	struct ibv_cq *cq = create_cq(context);
	struct ibv_cq_init_attr_ex cq_attr = { .cqe = 16, .wc_flags = IBV_WC_EX_WITH_BYTE_LEN };
	struct mlx5dv_cq_init_attr mlx5_cq_attr = { 0 };
	struct ibv_counters_init_attr counters_attr = { 0 };
	struct ibv_td_init_attr td_attr = { 0 };
	char rate[16] = { 0 };

	create_table(create_wq(pd, cq));
	create_mlx5_wq(pd, cq);
	create_mkey(pd);
	create_ah(pd);
	create_ah_from_wc(pd);
	MUST(PTR(ibv_alloc_null_mr(pd)));
	reg_dm_mr(pd, alloc_dm(context));
	open_xrcd(context);
	MUST(PTR(ibv_create_cq_ex(context, &cq_attr)));
	MUST(PTR(mlx5dv_create_cq(context, &cq_attr, &mlx5_cq_attr)));
	MUST(PTR(ibv_create_counters(context, &counters_attr)));
	MUST(PTR(ibv_alloc_td(context, &td_attr)));
	MUST(PTR(mlx5dv_devx_alloc_uar(context, MLX5DV_UAR_ALLOC_TYPE_NC)));
	MUST(PTR(mlx5dv_alloc_var(context, 0)));
	MUST(PTR(mlx5dv_pp_alloc(context, sizeof(rate), rate, 0)));
	create_devx(context);
	INT(ibv_close_device(context));
	return 0;
}
