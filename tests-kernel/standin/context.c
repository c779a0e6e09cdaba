// SPDX-License-Identifier: MIT OR GPL-2.0
/* What opening and importing a context asks for: the context itself, its description for importers, and UAR pages. */
#include <linux/mm.h>
#include <linux/slab.h>

#include "standin.h"

struct standin_uar {
	struct rdma_user_mmap_entry entry;
	unsigned long page;
};

static void describe(struct mlx5_ib_alloc_ucontext_resp *answer)
{
	*answer = (struct mlx5_ib_alloc_ucontext_resp){
		.qp_tab_size = 1 << 16,
		.bf_reg_size = 512,
		/* No static UARs: with them libmlx5 refuses to import the context. */
		.tot_bfregs = 0,
		.cache_line_size = 64,
		.max_sq_desc_sz = 1024,
		.max_rq_desc_sz = 512,
		.max_send_wqebb = 1 << 15,
		.max_recv_wr = 1 << 15,
		.max_srq_recv_wr = 1 << 15,
		.num_ports = 1,
		.cqe_version = 1,
		.response_length = sizeof(*answer),
		.log_uar_size = PAGE_SHIFT,
		.num_uars_per_page = 1,
	};
}

static int alloc_ucontext(struct ib_ucontext *ucontext, struct ib_udata *udata)
{
	struct standin_context *context = container_of(ucontext, struct standin_context, ib);
	struct mlx5_ib_alloc_ucontext_req_v2 request = {};
	struct mlx5_ib_alloc_ucontext_resp answer;
	int err;

	err = ib_copy_from_udata(&request, udata, min(sizeof(request), udata->inlen));
	if (err)
		return err;
	context->devx = request.flags & MLX5_IB_ALLOC_UCTX_DEVX;
	describe(&answer);
	err = standin_answer(udata, &answer, sizeof(answer));
	if (!err)
		atomic_inc(&standin_live[CONTEXT]);
	return err;
}

static void dealloc_ucontext(struct ib_ucontext *ucontext)
{
	atomic_dec(&standin_live[CONTEXT]);
}

static int query_ucontext(struct ib_ucontext *ucontext, struct uverbs_attr_bundle *attrs)
{
	struct mlx5_ib_alloc_ucontext_resp answer;

	describe(&answer);
	return uverbs_copy_to_struct_or_zero(attrs, MLX5_IB_ATTR_QUERY_CONTEXT_RESP_UCTX, &answer, sizeof(answer));
}

/* Its presence is what lets the core take the device away under open contexts. */
static void disassociate_ucontext(struct ib_ucontext *ucontext)
{
}

static void mmap_free(struct rdma_user_mmap_entry *entry)
{
	struct standin_uar *uar = container_of(entry, struct standin_uar, entry);

	free_page(uar->page);
	kfree(uar);
}

static int map(struct ib_ucontext *ucontext, struct vm_area_struct *vma)
{
	struct rdma_user_mmap_entry *entry = rdma_user_mmap_entry_get(ucontext, vma);
	struct standin_uar *uar;
	int err;

	if (!entry)
		return -EINVAL;
	uar = container_of(entry, struct standin_uar, entry);
	err = rdma_user_mmap_io(ucontext, vma, virt_to_phys((void *)uar->page) >> PAGE_SHIFT, PAGE_SIZE,
				vma->vm_page_prot, entry);
	rdma_user_mmap_entry_put(entry);
	return err;
}

static struct standin_uar *uar_new(struct ib_ucontext *ucontext)
{
	struct standin_uar *uar = kzalloc(sizeof(*uar), GFP_KERNEL);
	int err = -ENOMEM;

	if (!uar)
		return ERR_PTR(err);
	uar->page = get_zeroed_page(GFP_KERNEL);
	if (uar->page)
		err = rdma_user_mmap_entry_insert(ucontext, &uar->entry, PAGE_SIZE);
	if (err) {
		free_page(uar->page);
		kfree(uar);
		return ERR_PTR(err);
	}
	atomic_inc(&standin_live[UAR]);
	return uar;
}

static int uar_cleanup(struct ib_uobject *uobject, enum rdma_remove_reason why, struct uverbs_attr_bundle *attrs)
{
	struct standin_uar *uar = uobject->object;

	/* The page itself lives until it is unmapped. */
	rdma_user_mmap_entry_remove(&uar->entry);
	atomic_dec(&standin_live[UAR]);
	return 0;
}

static int UVERBS_HANDLER(MLX5_IB_METHOD_UAR_OBJ_ALLOC)(struct uverbs_attr_bundle *attrs)
{
	struct ib_uobject *uobject = uverbs_attr_get_uobject(attrs, MLX5_IB_ATTR_UAR_OBJ_ALLOC_HANDLE);
	struct standin_uar *uar = uar_new(uobject->context);
	u32 length = PAGE_SIZE, page_id;
	u64 offset;
	int err;

	if (IS_ERR(uar))
		return PTR_ERR(uar);
	uobject->object = uar;
	offset = rdma_user_mmap_get_offset(&uar->entry);
	page_id = uar->entry.start_pgoff;
	uverbs_finalize_uobj_create(attrs, MLX5_IB_ATTR_UAR_OBJ_ALLOC_HANDLE);
	err = uverbs_copy_to(attrs, MLX5_IB_ATTR_UAR_OBJ_ALLOC_MMAP_OFFSET, &offset, sizeof(offset));
	if (!err)
		err = uverbs_copy_to(attrs, MLX5_IB_ATTR_UAR_OBJ_ALLOC_MMAP_LENGTH, &length, sizeof(length));
	if (!err)
		err = uverbs_copy_to(attrs, MLX5_IB_ATTR_UAR_OBJ_ALLOC_PAGE_ID, &page_id, sizeof(page_id));
	return err;
}

DECLARE_UVERBS_NAMED_METHOD(
	MLX5_IB_METHOD_UAR_OBJ_ALLOC,
	UVERBS_ATTR_IDR(MLX5_IB_ATTR_UAR_OBJ_ALLOC_HANDLE, MLX5_IB_OBJECT_UAR, UVERBS_ACCESS_NEW, UA_MANDATORY),
	UVERBS_ATTR_CONST_IN(MLX5_IB_ATTR_UAR_OBJ_ALLOC_TYPE, enum mlx5_ib_uapi_uar_alloc_type, UA_MANDATORY),
	UVERBS_ATTR_PTR_OUT(MLX5_IB_ATTR_UAR_OBJ_ALLOC_MMAP_OFFSET, UVERBS_ATTR_TYPE(u64), UA_MANDATORY),
	UVERBS_ATTR_PTR_OUT(MLX5_IB_ATTR_UAR_OBJ_ALLOC_MMAP_LENGTH, UVERBS_ATTR_TYPE(u32), UA_MANDATORY),
	UVERBS_ATTR_PTR_OUT(MLX5_IB_ATTR_UAR_OBJ_ALLOC_PAGE_ID, UVERBS_ATTR_TYPE(u32), UA_MANDATORY));

DECLARE_UVERBS_NAMED_METHOD_DESTROY(MLX5_IB_METHOD_UAR_OBJ_DESTROY,
				    UVERBS_ATTR_IDR(MLX5_IB_ATTR_UAR_OBJ_DESTROY_HANDLE, MLX5_IB_OBJECT_UAR,
						    UVERBS_ACCESS_DESTROY, UA_MANDATORY));

DECLARE_UVERBS_NAMED_OBJECT(MLX5_IB_OBJECT_UAR, UVERBS_TYPE_ALLOC_IDR(uar_cleanup),
			    &UVERBS_METHOD(MLX5_IB_METHOD_UAR_OBJ_ALLOC),
			    &UVERBS_METHOD(MLX5_IB_METHOD_UAR_OBJ_DESTROY));

ADD_UVERBS_ATTRIBUTES_SIMPLE(query_context, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_CONTEXT,
			     UVERBS_ATTR_PTR_OUT(MLX5_IB_ATTR_QUERY_CONTEXT_RESP_UCTX,
						 UVERBS_ATTR_STRUCT(struct mlx5_ib_alloc_ucontext_resp,
								    dump_fill_mkey),
						 UA_MANDATORY));

const struct uapi_definition standin_context_defs[] = {
	UAPI_DEF_CHAIN_OBJ_TREE(UVERBS_OBJECT_DEVICE, &query_context),
	UAPI_DEF_CHAIN_OBJ_TREE_NAMED(MLX5_IB_OBJECT_UAR),
	{},
};

const struct ib_device_ops standin_context_ops = {
	.alloc_ucontext = alloc_ucontext,
	.dealloc_ucontext = dealloc_ucontext,
	.query_ucontext = query_ucontext,
	.disassociate_ucontext = disassociate_ucontext,
	.mmap = map,
	.mmap_free = mmap_free,
	INIT_RDMA_OBJ_SIZE(ib_ucontext, standin_context, ib),
};
