/*
 * Everything that hangs on a PD or lives in a context is made and destroyed: nothing is left, nothing is busy.
 *
 * expect: none
 * expect: no note children-left
 * expect: no note pd-dealloc-busy
 * lab: no, the stand-in driver has no work queues
 */
#include "../common/every_child.h"

static void on_a_pd(struct ibv_pd *pd, struct ibv_cq *cq)
{
	struct ibv_wq *wq = create_wq(pd, cq), *mlx5_wq = create_mlx5_wq(pd, cq);
	struct ibv_rwq_ind_table *table = create_table(wq);
	struct mlx5dv_mkey *mkey = create_mkey(pd);
	struct ibv_ah *ah = create_ah(pd), *answering = create_ah_from_wc(pd);
	struct ibv_mr *null = PTR(ibv_alloc_null_mr(pd));
	struct ibv_dm *dm = alloc_dm(pd->context);
	struct ibv_mr *dm_mr = reg_dm_mr(pd, dm);

	MUST(null);
	MUST(INT(ibv_dereg_mr(dm_mr)) == 0);
	MUST(INT(ibv_free_dm(dm)) == 0);
	MUST(INT(ibv_dereg_mr(null)) == 0);
	MUST(INT(ibv_destroy_ah(ah)) == 0);
	MUST(INT(ibv_destroy_ah(answering)) == 0);
	MUST(INT(mlx5dv_destroy_mkey(mkey)) == 0);
	MUST(INT(ibv_destroy_rwq_ind_table(table)) == 0);
	MUST(INT(ibv_destroy_wq(mlx5_wq)) == 0);
	MUST(INT(ibv_destroy_wq(wq)) == 0);
}

static void extended_connections(struct ibv_context *context, struct ibv_pd *pd, struct ibv_cq *cq)
{
	struct ibv_xrcd *xrcd = open_xrcd(context);
	struct ibv_srq_init_attr_ex srq_attr = {
		.attr = { .max_wr = 4, .max_sge = 1 },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_CQ |
			     IBV_SRQ_INIT_ATTR_XRCD,
		.srq_type = IBV_SRQT_XRC,
		.pd = pd,
		.cq = cq,
		.xrcd = xrcd,
	};
	struct ibv_qp_init_attr_ex receiver = {
		.qp_type = IBV_QPT_XRC_RECV, .comp_mask = IBV_QP_INIT_ATTR_XRCD, .xrcd = xrcd
	};
	struct ibv_srq *srq = PTR(ibv_create_srq_ex(context, &srq_attr));
	struct ibv_qp *qp = PTR(ibv_create_qp_ex(context, &receiver));

	MUST(srq && qp);
	MUST(INT(ibv_destroy_qp(qp)) == 0);
	MUST(INT(ibv_destroy_srq(srq)) == 0);
	MUST(INT(ibv_close_xrcd(xrcd)) == 0);
}

static void in_a_context(struct ibv_context *context)
{
	struct ibv_cq_init_attr_ex cq_attr = { .cqe = 16, .wc_flags = IBV_WC_EX_WITH_BYTE_LEN };
	struct mlx5dv_cq_init_attr mlx5_cq_attr = { 0 };
	struct ibv_counters_init_attr counters_attr = { 0 };
	struct ibv_td_init_attr td_attr = { 0 };
	struct ibv_cq_ex *cq = PTR(ibv_create_cq_ex(context, &cq_attr));
	struct ibv_cq_ex *mlx5_cq = PTR(mlx5dv_create_cq(context, &cq_attr, &mlx5_cq_attr));
	struct ibv_counters *counters = PTR(ibv_create_counters(context, &counters_attr));
	struct ibv_td *td = PTR(ibv_alloc_td(context, &td_attr));
	struct mlx5dv_devx_uar *uar = PTR(mlx5dv_devx_alloc_uar(context, MLX5DV_UAR_ALLOC_TYPE_NC));
	struct mlx5dv_var *var = PTR(mlx5dv_alloc_var(context, 0));
	struct mlx5dv_devx_obj *obj = create_devx(context);
	char rate[16] = { 0 };
	struct mlx5dv_pp *pp = PTR(mlx5dv_pp_alloc(context, sizeof(rate), rate, 0));

	MUST(cq && mlx5_cq && counters && td && uar && var && pp);
	VOID(mlx5dv_pp_free(pp));
	MUST(INT(mlx5dv_devx_obj_destroy(obj)) == 0);
	VOID(mlx5dv_free_var(var));
	VOID(mlx5dv_devx_free_uar(uar));
	MUST(INT(ibv_dealloc_td(td)) == 0);
	MUST(INT(ibv_destroy_counters(counters)) == 0);
	MUST(INT(ibv_destroy_cq(ibv_cq_ex_to_cq(mlx5_cq))) == 0);
	MUST(INT(ibv_destroy_cq(ibv_cq_ex_to_cq(cq))) == 0);
}

int main(void)
{
	struct ibv_context *context = open_device();
	struct ibv_pd *pd = alloc_pd(context);
	struct ibv_cq *cq = create_cq(context);

	on_a_pd(pd, cq);
	extended_connections(context, pd, cq);
	in_a_context(context);
	MUST(INT(ibv_destroy_cq(cq)) == 0);
	MUST(INT(ibv_dealloc_pd(pd)) == 0);
	INT(ibv_close_device(context));
	return 0;
}
