/*
 * The bare forwarder: the least that any library in this place costs. The guard's own symbols and version nodes, and
 * behind each one indirect call.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

struct ibv_context;
struct ibv_pd;
struct ibv_mr;
struct mlx5dv_devx_umem;

static void *look_up(const char *name, const char *node)
{
    void *found = dlvsym(RTLD_NEXT, name, node);

    if (!found)
        abort();
    return found;
}

#define FORWARD(type, name, node, parameters, arguments)                                                               \
    type name parameters                                                                                               \
    {                                                                                                                  \
        static type(*real) parameters;                                                                                 \
        type(*found) parameters = __atomic_load_n(&real, __ATOMIC_ACQUIRE);                                            \
        if (__builtin_expect(!found, 0)) {                                                                             \
            found = look_up(#name, node);                                                                              \
            __atomic_store_n(&real, found, __ATOMIC_RELEASE);                                                          \
        }                                                                                                              \
        return found arguments;                                                                                        \
    }

FORWARD(struct ibv_pd *, ibv_alloc_pd, "IBVERBS_1.1", (struct ibv_context * context), (context))
FORWARD(int, ibv_dealloc_pd, "IBVERBS_1.1", (struct ibv_pd * pd), (pd))
FORWARD(struct ibv_pd *, ibv_import_pd, "IBVERBS_1.10", (struct ibv_context * context, uint32_t handle),
        (context, handle))
FORWARD(void, ibv_unimport_pd, "IBVERBS_1.10", (struct ibv_pd * pd), (pd))
FORWARD(struct ibv_mr *, ibv_reg_mr, "IBVERBS_1.1", (struct ibv_pd * pd, void *addr, size_t length, int access),
        (pd, addr, length, access))
FORWARD(int, ibv_dereg_mr, "IBVERBS_1.1", (struct ibv_mr * mr), (mr))
FORWARD(struct mlx5dv_devx_umem *, mlx5dv_devx_umem_reg, "MLX5_1.7",
        (struct ibv_context * context, void *addr, size_t size, uint32_t access), (context, addr, size, access))
FORWARD(int, mlx5dv_devx_umem_dereg, "MLX5_1.7", (struct mlx5dv_devx_umem * umem), (umem))
FORWARD(int, mlx5dv_devx_umem_export, "MLX5_1.27", (struct mlx5dv_devx_umem * umem, void *data), (umem, data))
FORWARD(struct mlx5dv_devx_umem *, mlx5dv_devx_umem_import, "MLX5_1.27", (struct ibv_context * context, void *data),
        (context, data))
FORWARD(void, mlx5dv_devx_umem_unimport, "MLX5_1.27", (struct mlx5dv_devx_umem * umem), (umem))
