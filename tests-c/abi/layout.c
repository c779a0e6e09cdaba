/*
 * The structs that the guard mirrors (src/abi/types.rs), field by field against the real headers. mirrored.h is made
 * from the Rust by cbindgen; compiling this is the test.
 */
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>

#define guard_pthread_mutex_t pthread_mutex_t
#include "mirrored.h"

#define SIZE(type, field) sizeof(((struct type *)0)->field)
#define SAME_AS(mirror, field, real, there)                                    \
	_Static_assert(offsetof(struct guard_##mirror, field) == offsetof(struct real, there) &&     \
			       SIZE(guard_##mirror, field) == SIZE(real, there),                     \
		       #mirror "." #field " is not where " #real " has it")
#define SAME(mirror, real, field) SAME_AS(mirror, field, real, field)
/* struct verbs_context grows at its head: what counts is the distance to its end. */
#define SAME_FROM_END(mirror, real, field)                                                            \
	_Static_assert(sizeof(struct guard_##mirror) - offsetof(struct guard_##mirror, field) ==      \
			       sizeof(struct real) - offsetof(struct real, field),                   \
		       #mirror "." #field " is not where " #real " has it")

SAME(IbvContext, ibv_context, device);
SAME(IbvContext, ibv_context, ops);
SAME(IbvContext, ibv_context, cmd_fd);
SAME(IbvContext, ibv_context, async_fd);
SAME(IbvContext, ibv_context, num_comp_vectors);
SAME(IbvContext, ibv_context, mutex);
SAME(IbvContext, ibv_context, abi_compat);
_Static_assert(sizeof(struct guard_IbvContext) == sizeof(struct ibv_context), "ibv_context has another size");

SAME_AS(IbvContextOps, compat_alloc_pd, ibv_context_ops, _compat_alloc_pd);
SAME(IbvContextOps, ibv_context_ops, alloc_mw);
SAME(IbvContextOps, ibv_context_ops, dealloc_mw);
_Static_assert(sizeof(struct guard_IbvContextOps) == sizeof(struct ibv_context_ops), "ibv_context_ops has another size");

SAME_FROM_END(VerbsContextTail, verbs_context, query_port);
SAME_FROM_END(VerbsContextTail, verbs_context, alloc_null_mr);
SAME_FROM_END(VerbsContextTail, verbs_context, create_counters);
SAME_FROM_END(VerbsContextTail, verbs_context, destroy_counters);
SAME_FROM_END(VerbsContextTail, verbs_context, reg_dm_mr);
SAME_FROM_END(VerbsContextTail, verbs_context, alloc_dm);
SAME_FROM_END(VerbsContextTail, verbs_context, free_dm);
SAME_FROM_END(VerbsContextTail, verbs_context, alloc_parent_domain);
SAME_FROM_END(VerbsContextTail, verbs_context, dealloc_td);
SAME_FROM_END(VerbsContextTail, verbs_context, alloc_td);
SAME_FROM_END(VerbsContextTail, verbs_context, destroy_rwq_ind_table);
SAME_FROM_END(VerbsContextTail, verbs_context, create_rwq_ind_table);
SAME_FROM_END(VerbsContextTail, verbs_context, destroy_wq);
SAME_FROM_END(VerbsContextTail, verbs_context, create_wq);
SAME_FROM_END(VerbsContextTail, verbs_context, create_cq_ex);
SAME_FROM_END(VerbsContextTail, verbs_context, ibv_destroy_flow);
SAME_FROM_END(VerbsContextTail, verbs_context, ibv_create_flow);
SAME_FROM_END(VerbsContextTail, verbs_context, open_qp);
SAME_FROM_END(VerbsContextTail, verbs_context, create_qp_ex);
SAME_FROM_END(VerbsContextTail, verbs_context, create_srq_ex);
SAME_FROM_END(VerbsContextTail, verbs_context, open_xrcd);
SAME_FROM_END(VerbsContextTail, verbs_context, close_xrcd);
SAME_FROM_END(VerbsContextTail, verbs_context, sz);
SAME_FROM_END(VerbsContextTail, verbs_context, context);

SAME(IbvParentDomainInitAttr, ibv_parent_domain_init_attr, pd);
SAME(IbvQpInitAttrEx, ibv_qp_init_attr_ex, comp_mask);
SAME(IbvQpInitAttrEx, ibv_qp_init_attr_ex, pd);
SAME(IbvSrqInitAttrEx, ibv_srq_init_attr_ex, comp_mask);
SAME(IbvSrqInitAttrEx, ibv_srq_init_attr_ex, pd);
SAME(IbvWqInitAttr, ibv_wq_init_attr, pd);
SAME(Mlx5dvMkeyInitAttr, mlx5dv_mkey_init_attr, pd);
SAME(Mlx5dvDekInitAttr, mlx5dv_dek_init_attr, pd);

SAME(IbvMw, ibv_mw, context);
SAME(IbvMw, ibv_mw, pd);
SAME(IbvMw, ibv_mw, rkey);
SAME(IbvMw, ibv_mw, handle);
SAME(IbvQp, ibv_qp, context);
SAME(IbvQp, ibv_qp, handle);
SAME(IbvQp, ibv_qp, qp_num);
SAME(IbvSrq, ibv_srq, context);
SAME(IbvSrq, ibv_srq, handle);
SAME(IbvWq, ibv_wq, context);
SAME(IbvWq, ibv_wq, wq_num);
SAME(IbvWq, ibv_wq, handle);
SAME(IbvFlow, ibv_flow, context);
SAME(IbvDm, ibv_dm, context);
SAME(IbvCounters, ibv_counters, context);
SAME(IbvTd, ibv_td, context);
SAME(IbvXrcd, ibv_xrcd, context);
SAME(IbvRwqIndTable, ibv_rwq_ind_table, context);
SAME(Mlx5dvMkey, mlx5dv_mkey, lkey);
SAME(Mlx5dvMkey, mlx5dv_mkey, rkey);

SAME(IbvPd, ibv_pd, context);
SAME(IbvPd, ibv_pd, handle);
_Static_assert(sizeof(struct guard_IbvPd) == sizeof(struct ibv_pd), "ibv_pd has another size");

SAME(IbvMr, ibv_mr, context);
SAME(IbvMr, ibv_mr, pd);
SAME(IbvMr, ibv_mr, addr);
SAME(IbvMr, ibv_mr, length);
SAME(IbvMr, ibv_mr, handle);
SAME(IbvMr, ibv_mr, lkey);
SAME(IbvMr, ibv_mr, rkey);

SAME(Mlx5dvDevxUmemIn, mlx5dv_devx_umem_in, addr);
SAME(Mlx5dvDevxUmemIn, mlx5dv_devx_umem_in, size);
SAME(Mlx5dvDevxUmemIn, mlx5dv_devx_umem_in, access);
SAME(Mlx5dvDevxUmemIn, mlx5dv_devx_umem_in, pgsz_bitmap);
SAME(Mlx5dvDevxUmemIn, mlx5dv_devx_umem_in, comp_mask);
SAME(Mlx5dvDevxUmemIn, mlx5dv_devx_umem_in, dmabuf_fd);

/* The rest is libmlx5's own, and no header has it. */
SAME(Mlx5dvDevxUmem, mlx5dv_devx_umem, umem_id);

SAME_AS(Mlx5dvObj, pd_in, mlx5dv_obj, pd.in);
SAME_AS(Mlx5dvObj, pd_out, mlx5dv_obj, pd.out);
_Static_assert(sizeof(struct guard_Mlx5dvObj) >= sizeof(struct mlx5dv_obj), "mlx5dv_obj has outgrown its room");
SAME(Mlx5dvPd, mlx5dv_pd, pdn);
SAME(Mlx5dvPd, mlx5dv_pd, comp_mask);
_Static_assert(sizeof(struct guard_Mlx5dvPd) == sizeof(struct mlx5dv_pd), "mlx5dv_pd has another size");

_Static_assert(guard_MLX5DV_UMEM_MASK_DMABUF == MLX5DV_UMEM_MASK_DMABUF, "another mask bit");
_Static_assert(guard_MLX5DV_OBJ_PD == MLX5DV_OBJ_PD, "another object bit");

#ifdef NEEDS_UMEM_EXPORT
SAME(Mlx5dvExportSizes, mlx5dv_export_sizes, var_attrs_size);
SAME(Mlx5dvExportSizes, mlx5dv_export_sizes, devx_umem_attrs_size);
SAME(Mlx5dvExportSizes, mlx5dv_export_sizes, devx_obj_attrs_size);
#endif
