/* Protection domains and what hangs on them. */
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>

#include "verbs.h"

static uint32_t pdn_of(struct ibv_pd *pd)
{
	struct mlx5dv_pd out = { 0 };
	struct mlx5dv_obj query = { .pd = { .in = pd, .out = &out } };

	return mlx5dv_init_obj(&query, MLX5DV_OBJ_PD) ? 0 : out.pdn;
}

static void made_pd(struct call *call, struct ibv_pd *pd)
{
	struct object *object = made(call, PD, pd);

	if (object)
		call->reply->value = (struct value){ .handle = pd->handle, .id = pdn_of(pd) };
}

static void alloc_pd(struct call *call)
{
	made_pd(call, ibv_alloc_pd(object(call, 0, CONTEXT)->context));
}

static void import_pd(struct call *call)
{
	made_pd(call, ibv_import_pd(object(call, 0, CONTEXT)->context, call->request->args[1].value.handle));
}

static void unimport_pd(struct call *call)
{
	struct object *pd = object(call, 0, PD);

	ibv_unimport_pd(pd->pd);
	ended(call, pd, 0);
}

static void dealloc_pd(struct call *call)
{
	struct object *pd = object(call, 0, PD);

	ended(call, pd, ibv_dealloc_pd(pd->pd));
}

/* While another process is in a call on the PD, the answer is EBUSY for a moment. */
static void dealloc_pd_patiently(struct call *call)
{
	struct object *pd = object(call, 0, PD);
	int result;

	do
		result = ibv_dealloc_pd(pd->pd);
	while (result == EBUSY);
	ended(call, pd, result);
}

/* Imports and releases again and again, until the kernel says anything but "busy". */
static void import_pd_until_refused(struct call *call)
{
	struct ibv_context *context = object(call, 0, CONTEXT)->context;
	struct ibv_pd *pd;

	do {
		pd = ibv_import_pd(context, call->request->args[1].value.handle);
		if (pd)
			ibv_unimport_pd(pd);
	} while (pd || errno == EBUSY);
	answered(call, errno);
}

static void reg_mr_until_refused(struct call *call)
{
	struct ibv_pd *pd = object(call, 0, PD)->pd;
	struct ibv_mr *mr;
	size_t size;
	void *memory = memory_for(call, &size);

	do {
		mr = ibv_reg_mr(pd, memory, size, IBV_ACCESS_LOCAL_WRITE);
		if (mr)
			ibv_dereg_mr(mr);
	} while (mr || errno == EBUSY);
	answered(call, errno);
}

static void alloc_td(struct call *call)
{
	struct ibv_td_init_attr attr = { 0 };

	made(call, TD, ibv_alloc_td(object(call, 0, CONTEXT)->context, &attr));
}

static void dealloc_td(struct call *call)
{
	struct object *td = object(call, 0, TD);

	ended(call, td, ibv_dealloc_td(td->td));
}

static void alloc_parent_domain(struct call *call)
{
	struct ibv_parent_domain_init_attr attr = { .pd = object(call, 1, PD)->pd };

	made_pd(call, ibv_alloc_parent_domain(object(call, 0, CONTEXT)->context, &attr));
}

static void made_mr(struct call *call, struct ibv_mr *mr, void *memory, size_t size)
{
	struct object *object = made(call, MR, mr);

	if (!object)
		return;
	object->memory = memory;
	object->size = size;
	call->reply->value = (struct value){ .handle = mr->handle, .id = mr->lkey };
}

static void reg_mr(struct call *call)
{
	struct ibv_pd *pd = object(call, 0, PD)->pd;
	size_t size;
	void *memory = memory_for(call, &size);
	unsigned int access = option(call, "access", IBV_ACCESS_LOCAL_WRITE);

	errno = 0;
	made_mr(call, ibv_reg_mr(pd, memory, size, access), memory, size);
}

static void dereg_mr(struct call *call)
{
	struct object *mr = object(call, 0, MR);

	ended(call, mr, ibv_dereg_mr(mr->mr));
}

static void import_mr(struct call *call)
{
	made_mr(call, ibv_import_mr(object(call, 0, PD)->pd, call->request->args[1].value.handle), NULL, 0);
}

static void unimport_mr(struct call *call)
{
	struct object *mr = object(call, 0, MR);

	ibv_unimport_mr(mr->mr);
	ended(call, mr, 0);
}

static void alloc_mw(struct call *call)
{
	made(call, MW, ibv_alloc_mw(object(call, 0, PD)->pd, IBV_MW_TYPE_1));
}

static void dealloc_mw(struct call *call)
{
	struct object *mw = object(call, 0, MW);

	ended(call, mw, ibv_dealloc_mw(mw->mw));
}

const struct verb pd_verbs[] = {
	{ "alloc_pd", alloc_pd },
	{ "import_pd", import_pd },
	{ "unimport_pd", unimport_pd },
	{ "dealloc_pd", dealloc_pd },
	{ "dealloc_pd_patiently", dealloc_pd_patiently },
	{ "import_pd_until_refused", import_pd_until_refused },
	{ "reg_mr_until_refused", reg_mr_until_refused },
	{ "alloc_td", alloc_td },
	{ "dealloc_td", dealloc_td },
	{ "alloc_parent_domain", alloc_parent_domain },
	{ "reg_mr", reg_mr },
	{ "dereg_mr", dereg_mr },
	{ "import_mr", import_mr },
	{ "unimport_mr", unimport_mr },
	{ "alloc_mw", alloc_mw },
	{ "dealloc_mw", dealloc_mw },
	{ NULL, NULL },
};
