/* DEVX UMEMs. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "verbs.h"

static void made_umem(struct call *call, struct mlx5dv_devx_umem *umem, void *memory, size_t size)
{
	struct object *object = made(call, UMEM, umem);
	uint64_t blob;

	if (!object)
		return;
	object->memory = memory;
	object->size = size;
	/* The blob begins with the handle, which nothing else shows. But some are not to be exported. */
	if (!option(call, "export", 1))
		return;
	if (mlx5dv_devx_umem_export(umem, &blob))
		bad_call(call, "a UMEM that cannot be exported");
	call->reply->value = (struct value){ .handle = (uint32_t)blob, .id = umem->umem_id, .blob = blob };
}

static void reg_umem(struct call *call)
{
	struct ibv_context *context = object(call, 0, CONTEXT)->context;
	size_t size;
	void *memory = memory_for(call, &size);
	uint32_t access = option(call, "access", IBV_ACCESS_LOCAL_WRITE);

	errno = 0;
	made_umem(call, mlx5dv_devx_umem_reg(context, memory, size, access), memory, size);
}

static void reg_umem_ex(struct call *call)
{
	struct ibv_context *context = object(call, 0, CONTEXT)->context;
	size_t size;
	struct mlx5dv_devx_umem_in in = {
		.addr = memory_for(call, &size),
		.access = option(call, "access", IBV_ACCESS_LOCAL_WRITE),
		.pgsz_bitmap = option(call, "pages", UINT64_MAX & ~4095ULL),
		.comp_mask = option(call, "mask", 0),
	};

	in.size = size;
	errno = 0;
	made_umem(call, mlx5dv_devx_umem_reg_ex(context, &in), in.addr, size);
}

static void dereg_umem(struct call *call)
{
	struct object *umem = object(call, 0, UMEM);

	ended(call, umem, mlx5dv_devx_umem_dereg(umem->umem));
}

static void dereg_umem_patiently(struct call *call)
{
	struct object *umem = object(call, 0, UMEM);
	int result;

	do
		result = mlx5dv_devx_umem_dereg(umem->umem);
	while (result == EBUSY);
	ended(call, umem, result);
}

static void export_umem(struct call *call)
{
	struct mlx5dv_export_sizes sizes;
	uint64_t blob = 0;
	size_t unused;
	int result;

	if (mlx5dv_get_export_sizes(&sizes), sizes.devx_umem_attrs_size > sizeof(blob))
		bad_call(call, "an exported UMEM has grown beyond 8 bytes");
	result = mlx5dv_devx_umem_export(object(call, 0, UMEM)->umem,
					 text_option(call, "at") ? memory_for(call, &unused) : &blob);
	answered(call, result);
	if (!result)
		call->reply->value = (struct value){ .handle = (uint32_t)blob, .id = blob >> 32, .blob = blob };
}

static void import_umem(struct call *call)
{
	uint64_t blob = call->request->args[1].value.blob;
	size_t unused;
	void *data = text_option(call, "at") ? memory_for(call, &unused) : &blob;
	struct mlx5dv_devx_umem *umem;

	errno = 0;
	umem = mlx5dv_devx_umem_import(object(call, 0, CONTEXT)->context, data);
	made_umem(call, umem, NULL, 0);
}

static void unimport_umem(struct call *call)
{
	struct object *umem = object(call, 0, UMEM);

	mlx5dv_devx_umem_unimport(umem->umem);
	ended(call, umem, 0);
}

/* Takes the memory away while it is registered. */
static void unmap(struct call *call)
{
	struct object *umem = object(call, 0, UMEM);

	answered(call, munmap(umem->memory, umem->size) ? errno : 0);
}

const struct verb umem_verbs[] = {
	{ "reg_umem", reg_umem },
	{ "reg_umem_ex", reg_umem_ex },
	{ "dereg_umem", dereg_umem },
	{ "dereg_umem_patiently", dereg_umem_patiently },
	{ "export", export_umem },
	{ "import_umem", import_umem },
	{ "unimport_umem", unimport_umem },
	{ "unmap", unmap },
	{ NULL, NULL },
};
