// SPDX-License-Identifier: MIT OR GPL-2.0
/* PDs, memory regions and windows, and DEVX UMEMs. Pages are really pinned, by the core's ib_umem. */
#include <linux/slab.h>

#include "standin.h"

/* Where an adapter's page begins: 4 KiB, whatever the machine's page is. */
#define ADAPTER_PAGE_SHIFT 12

struct standin_mr {
	struct ib_mr ib;
	struct ib_umem *pages;
};

struct standin_mw {
	struct ib_mw ib;
};

struct standin_umem {
	struct ib_umem *pages;
	u32 id;
};

static DEFINE_IDA(pdns);
static DEFINE_IDA(umem_ids);
static DEFINE_IDA(keys);

/* An adapter's numbers are its own: none of the first few, which handles take. */
int standin_number(struct ida *numbers)
{
	return ida_alloc_range(numbers, 0x40, 0xffff, GFP_KERNEL);
}

static int alloc_pd(struct ib_pd *ibpd, struct ib_udata *udata)
{
	struct standin_pd *pd = container_of(ibpd, struct standin_pd, ib);
	struct mlx5_ib_alloc_pd_resp answer;
	int pdn = standin_number(&pdns);
	int err = 0;

	if (pdn < 0)
		return pdn;
	pd->pdn = answer.pdn = pdn;
	if (udata)
		err = standin_answer(udata, &answer, sizeof(answer));
	if (err)
		ida_free(&pdns, pdn);
	else
		atomic_inc(&standin_live[PD]);
	return err;
}

static int dealloc_pd(struct ib_pd *ibpd, struct ib_udata *udata)
{
	ida_free(&pdns, container_of(ibpd, struct standin_pd, ib)->pdn);
	atomic_dec(&standin_live[PD]);
	return 0;
}

static struct ib_mr *reg_user_mr(struct ib_pd *pd, u64 start, u64 length, u64 iova, int access, struct ib_udata *udata)
{
	struct standin_mr *mr = kzalloc(sizeof(*mr), GFP_KERNEL);
	int key;

	if (!mr)
		return ERR_PTR(-ENOMEM);
	mr->pages = ib_umem_get(pd->device, start, length, access);
	if (IS_ERR(mr->pages)) {
		key = PTR_ERR(mr->pages);
		goto free_mr;
	}
	key = standin_number(&keys);
	if (key < 0)
		goto release_pages;
	mr->ib.lkey = mr->ib.rkey = key << 8;
	mr->ib.length = length;
	atomic_inc(&standin_live[MR]);
	return &mr->ib;

release_pages:
	ib_umem_release(mr->pages);
free_mr:
	kfree(mr);
	return ERR_PTR(key);
}

static int dereg_mr(struct ib_mr *ibmr, struct ib_udata *udata)
{
	struct standin_mr *mr = container_of(ibmr, struct standin_mr, ib);

	ida_free(&keys, mr->ib.lkey >> 8);
	ib_umem_release(mr->pages);
	kfree(mr);
	atomic_dec(&standin_live[MR]);
	return 0;
}

static int alloc_mw(struct ib_mw *mw, struct ib_udata *udata)
{
	int key = standin_number(&keys);

	if (key < 0)
		return key;
	mw->rkey = key << 8;
	atomic_inc(&standin_live[MW]);
	return 0;
}

static int dealloc_mw(struct ib_mw *mw)
{
	ida_free(&keys, mw->rkey >> 8);
	atomic_dec(&standin_live[MW]);
	return 0;
}

static int UVERBS_HANDLER(MLX5_IB_METHOD_PD_QUERY)(struct uverbs_attr_bundle *attrs)
{
	struct ib_pd *pd = uverbs_attr_get_obj(attrs, MLX5_IB_ATTR_QUERY_PD_HANDLE);
	u32 pdn = container_of(pd, struct standin_pd, ib)->pdn;

	return uverbs_copy_to(attrs, MLX5_IB_ATTR_QUERY_PD_RESP_PDN, &pdn, sizeof(pdn));
}

/*
 * A UMEM needs a page size among those asked for at which all its pages but the first and the last are whole; what
 * begins or ends inside a page larger than the machine's is refused by taking the next smaller one, so only the bitmap
 * itself and the layout decide.
 */
static bool has_page_size(struct ib_umem *pages, u64 asked)
{
	u64 largest = max_t(u64, order_base_2(pages->length), PAGE_SHIFT);

	asked &= GENMASK_ULL(largest, ADAPTER_PAGE_SHIFT);
	return asked && ib_umem_find_best_pgoff(pages, asked, U64_MAX);
}

static struct standin_umem *umem_pin(struct ib_device *device, u64 addr, u64 length, u32 access, u64 page_sizes)
{
	struct standin_umem *umem = kzalloc(sizeof(*umem), GFP_KERNEL);
	int id;

	if (!umem)
		return ERR_PTR(-ENOMEM);
	umem->pages = ib_umem_get(device, addr, length, access);
	if (IS_ERR(umem->pages)) {
		id = PTR_ERR(umem->pages);
		goto free_umem;
	}
	id = has_page_size(umem->pages, page_sizes) ? standin_number(&umem_ids) : -EINVAL;
	if (id < 0)
		goto release_pages;
	umem->id = id;
	atomic_inc(&standin_live[UMEM]);
	return umem;

release_pages:
	ib_umem_release(umem->pages);
free_umem:
	kfree(umem);
	return ERR_PTR(id);
}

static int umem_cleanup(struct ib_uobject *uobject, enum rdma_remove_reason why, struct uverbs_attr_bundle *attrs)
{
	struct standin_umem *umem = uobject->object;
	int failure = why == RDMA_REMOVE_DESTROY ? standin_take_umem_dereg_failure() : 0;

	if (failure)
		return -failure;
	ida_free(&umem_ids, umem->id);
	ib_umem_release(umem->pages);
	kfree(umem);
	atomic_dec(&standin_live[UMEM]);
	return 0;
}

static int umem_arguments(struct uverbs_attr_bundle *attrs, u64 *addr, u64 *length, u32 *access, u64 *page_sizes)
{
	int err;

	err = uverbs_copy_from(addr, attrs, MLX5_IB_ATTR_DEVX_UMEM_REG_ADDR);
	if (!err)
		err = uverbs_copy_from(length, attrs, MLX5_IB_ATTR_DEVX_UMEM_REG_LEN);
	if (!err)
		err = uverbs_get_flags32(access, attrs, MLX5_IB_ATTR_DEVX_UMEM_REG_ACCESS,
					 IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ);
	if (!err && uverbs_attr_is_valid(attrs, MLX5_IB_ATTR_DEVX_UMEM_REG_PGSZ_BITMAP))
		err = uverbs_copy_from(page_sizes, attrs, MLX5_IB_ATTR_DEVX_UMEM_REG_PGSZ_BITMAP);
	return err;
}

static int UVERBS_HANDLER(MLX5_IB_METHOD_DEVX_UMEM_REG)(struct uverbs_attr_bundle *attrs)
{
	struct ib_uobject *uobject = uverbs_attr_get_uobject(attrs, MLX5_IB_ATTR_DEVX_UMEM_REG_HANDLE);
	struct standin_context *context = container_of(uobject->context, struct standin_context, ib);
	u64 addr, length, page_sizes = ~0ULL;
	struct standin_umem *umem;
	u32 access;
	int err;

	if (!context->devx)
		return -EINVAL;
	err = umem_arguments(attrs, &addr, &length, &access, &page_sizes);
	if (!err)
		err = ib_check_mr_access(context->ib.device, access);
	if (err)
		return err;
	umem = umem_pin(context->ib.device, addr, length, access, page_sizes);
	if (IS_ERR(umem))
		return PTR_ERR(umem);
	uobject->object = umem;
	uverbs_finalize_uobj_create(attrs, MLX5_IB_ATTR_DEVX_UMEM_REG_HANDLE);
	return uverbs_copy_to(attrs, MLX5_IB_ATTR_DEVX_UMEM_REG_OUT_ID, &umem->id, sizeof(umem->id));
}

DECLARE_UVERBS_NAMED_METHOD(
	MLX5_IB_METHOD_DEVX_UMEM_REG,
	UVERBS_ATTR_IDR(MLX5_IB_ATTR_DEVX_UMEM_REG_HANDLE, MLX5_IB_OBJECT_DEVX_UMEM, UVERBS_ACCESS_NEW, UA_MANDATORY),
	UVERBS_ATTR_PTR_IN(MLX5_IB_ATTR_DEVX_UMEM_REG_ADDR, UVERBS_ATTR_TYPE(u64), UA_MANDATORY),
	UVERBS_ATTR_PTR_IN(MLX5_IB_ATTR_DEVX_UMEM_REG_LEN, UVERBS_ATTR_TYPE(u64), UA_MANDATORY),
	UVERBS_ATTR_FLAGS_IN(MLX5_IB_ATTR_DEVX_UMEM_REG_ACCESS, enum ib_access_flags),
	UVERBS_ATTR_CONST_IN(MLX5_IB_ATTR_DEVX_UMEM_REG_PGSZ_BITMAP, u64),
	UVERBS_ATTR_PTR_OUT(MLX5_IB_ATTR_DEVX_UMEM_REG_OUT_ID, UVERBS_ATTR_TYPE(u32), UA_MANDATORY));

DECLARE_UVERBS_NAMED_METHOD_DESTROY(MLX5_IB_METHOD_DEVX_UMEM_DEREG,
				    UVERBS_ATTR_IDR(MLX5_IB_ATTR_DEVX_UMEM_DEREG_HANDLE, MLX5_IB_OBJECT_DEVX_UMEM,
						    UVERBS_ACCESS_DESTROY, UA_MANDATORY));

DECLARE_UVERBS_NAMED_OBJECT(MLX5_IB_OBJECT_DEVX_UMEM, UVERBS_TYPE_ALLOC_IDR(umem_cleanup),
			    &UVERBS_METHOD(MLX5_IB_METHOD_DEVX_UMEM_REG),
			    &UVERBS_METHOD(MLX5_IB_METHOD_DEVX_UMEM_DEREG));

DECLARE_UVERBS_NAMED_METHOD(
	MLX5_IB_METHOD_PD_QUERY,
	UVERBS_ATTR_IDR(MLX5_IB_ATTR_QUERY_PD_HANDLE, UVERBS_OBJECT_PD, UVERBS_ACCESS_READ, UA_MANDATORY),
	UVERBS_ATTR_PTR_OUT(MLX5_IB_ATTR_QUERY_PD_RESP_PDN, UVERBS_ATTR_TYPE(u32), UA_MANDATORY));

ADD_UVERBS_METHODS(pd_query, UVERBS_OBJECT_PD, &UVERBS_METHOD(MLX5_IB_METHOD_PD_QUERY));

const struct uapi_definition standin_memory_defs[] = {
	UAPI_DEF_CHAIN_OBJ_TREE_NAMED(MLX5_IB_OBJECT_DEVX_UMEM),
	UAPI_DEF_CHAIN_OBJ_TREE(UVERBS_OBJECT_PD, &pd_query),
	{},
};

const struct ib_device_ops standin_memory_ops = {
	.alloc_pd = alloc_pd,
	.dealloc_pd = dealloc_pd,
	.reg_user_mr = reg_user_mr,
	.dereg_mr = dereg_mr,
	.alloc_mw = alloc_mw,
	.dealloc_mw = dealloc_mw,
	INIT_RDMA_OBJ_SIZE(ib_pd, standin_pd, ib),
	INIT_RDMA_OBJ_SIZE(ib_mw, standin_mw, ib),
};
