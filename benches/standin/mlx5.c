/* The stand-in libmlx5: UMEMs that are one allocation each. */
#include <stdlib.h>
#include <string.h>

#include "standin.h"

struct ibv_context *mlx5dv_open_device(struct ibv_device *device, struct mlx5dv_context_attr *attr)
{
    (void)attr;
    return ibv_open_device(device);
}

static struct mlx5dv_devx_umem *umem_of(struct ibv_context *context, uint32_t handle, uint32_t umem_id)
{
    struct standin_umem *made = calloc(1, sizeof(*made));

    made->dv.umem_id = umem_id;
    made->context = context;
    made->handle = handle;
    return &made->dv;
}

struct mlx5dv_devx_umem *mlx5dv_devx_umem_reg(struct ibv_context *context, void *addr, size_t size, uint32_t access)
{
    uint32_t handle = standin_take_handle();

    (void)addr, (void)size, (void)access;
    return umem_of(context, handle, handle + 5000);
}

int mlx5dv_devx_umem_dereg(struct mlx5dv_devx_umem *umem)
{
    standin_give_handle(((struct standin_umem *)umem)->handle);
    free(umem);
    return 0;
}

int mlx5dv_devx_umem_export(struct mlx5dv_devx_umem *umem, void *data)
{
    struct standin_blob blob = {((struct standin_umem *)umem)->handle, umem->umem_id};

    memcpy(data, &blob, sizeof(blob));
    return 0;
}

struct mlx5dv_devx_umem *mlx5dv_devx_umem_import(struct ibv_context *context, void *data)
{
    struct standin_blob blob;

    memcpy(&blob, data, sizeof(blob));
    return umem_of(context, blob.handle, blob.umem_id);
}

void mlx5dv_devx_umem_unimport(struct mlx5dv_devx_umem *umem)
{
    free(umem);
}

void _mlx5dv_get_export_sizes(struct mlx5dv_export_sizes *sizes, size_t len)
{
    memset(sizes, 0, len);
    sizes->devx_umem_attrs_size = sizeof(struct standin_blob);
}

int mlx5dv_init_obj(struct mlx5dv_obj *obj, uint64_t type)
{
    if (type & MLX5DV_OBJ_PD)
        obj->pd.out->pdn = ((struct standin_pd *)obj->pd.in)->pdn;
    return 0;
}
