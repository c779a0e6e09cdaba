/*
 * One of each kind that hangs on a PD or lives in a context, besides the queues of queues.h.
 */
#ifndef EVERY_CHILD_H
#define EVERY_CHILD_H

#include "queues.h"

__attribute__((unused)) static struct ibv_wq_init_attr wq_attr(struct ibv_pd *pd, struct ibv_cq *cq)
{
	return (struct ibv_wq_init_attr){ .wq_type = IBV_WQT_RQ, .max_wr = 4, .max_sge = 1, .pd = pd, .cq = cq };
}

__attribute__((unused)) static struct ibv_wq *create_wq(struct ibv_pd *pd, struct ibv_cq *cq)
{
	struct ibv_wq_init_attr attr = wq_attr(pd, cq);
	struct ibv_wq *wq = PTR(ibv_create_wq(pd->context, &attr));

	MUST(wq);
	return wq;
}

__attribute__((unused)) static struct ibv_wq *create_mlx5_wq(struct ibv_pd *pd, struct ibv_cq *cq)
{
	struct ibv_wq_init_attr attr = wq_attr(pd, cq);
	struct mlx5dv_wq_init_attr mlx5 = { 0 };
	struct ibv_wq *wq = PTR(mlx5dv_create_wq(pd->context, &attr, &mlx5));

	MUST(wq);
	return wq;
}

__attribute__((unused)) static struct mlx5dv_mkey *create_mkey(struct ibv_pd *pd)
{
	struct mlx5dv_mkey_init_attr attr = {
		.pd = pd, .create_flags = MLX5DV_MKEY_INIT_ATTR_FLAGS_INDIRECT, .max_entries = 4
	};
	struct mlx5dv_mkey *mkey = PTR(mlx5dv_create_mkey(&attr));

	MUST(mkey);
	return mkey;
}

__attribute__((unused)) static struct ibv_ah *create_ah(struct ibv_pd *pd)
{
	struct ibv_ah_attr attr = { .dlid = 1, .port_num = 1 };
	struct ibv_ah *ah = PTR(ibv_create_ah(pd, &attr));

	MUST(ah);
	return ah;
}

__attribute__((unused)) static struct ibv_ah *create_ah_from_wc(struct ibv_pd *pd)
{
	struct ibv_wc wc = { .slid = 1 };
	struct ibv_grh grh = { 0 };
	struct ibv_ah *ah = PTR(ibv_create_ah_from_wc(pd, &wc, &grh, 1));

	MUST(ah);
	return ah;
}

__attribute__((unused)) static struct ibv_dm *alloc_dm(struct ibv_context *context)
{
	struct ibv_alloc_dm_attr attr = { .length = 64 };
	struct ibv_dm *dm = PTR(ibv_alloc_dm(context, &attr));

	MUST(dm);
	return dm;
}

__attribute__((unused)) static struct ibv_mr *reg_dm_mr(struct ibv_pd *pd, struct ibv_dm *dm)
{
	struct ibv_mr *mr = PTR(ibv_reg_dm_mr(pd, dm, 0, 64, IBV_ACCESS_ZERO_BASED | IBV_ACCESS_LOCAL_WRITE));

	MUST(mr);
	return mr;
}

__attribute__((unused)) static struct ibv_rwq_ind_table *create_table(struct ibv_wq *wq)
{
	struct ibv_rwq_ind_table_init_attr attr = { .log_ind_tbl_size = 0, .ind_tbl = &wq };
	struct ibv_rwq_ind_table *table = PTR(ibv_create_rwq_ind_table(wq->context, &attr));

	MUST(table);
	return table;
}

__attribute__((unused)) static struct ibv_xrcd *open_xrcd(struct ibv_context *context)
{
	struct ibv_xrcd_init_attr attr = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS, .fd = -1, .oflags = O_CREAT
	};
	struct ibv_xrcd *xrcd = PTR(ibv_open_xrcd(context, &attr));

	MUST(xrcd);
	return xrcd;
}

__attribute__((unused)) static struct mlx5dv_devx_obj *create_devx(struct ibv_context *context)
{
	/* CREATE_TIS */
	uint8_t in[64] = { 0x9, 0x12 }, out[16] = { 0 };
	struct mlx5dv_devx_obj *obj = PTR(mlx5dv_devx_obj_create(context, in, sizeof(in), out, sizeof(out)));

	MUST(obj);
	return obj;
}

#endif
