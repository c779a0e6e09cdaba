/*
 * The stand-in provider: libibverbs.so.1 and libmlx5.so.1 that answer at once, for the benchmark only. What it costs is
 * about what the real umem import and unimport cost: one allocation and one free.
 */
#ifndef STANDIN_H
#define STANDIN_H

#include <infiniband/verbs.h>
#include <infiniband/mlx5dv.h>

struct standin_pd {
    struct ibv_pd pd;
    uint32_t pdn;
};

/* As libmlx5 lays its own out: the guard reads the tail. */
struct standin_umem {
    struct mlx5dv_devx_umem dv;
    struct ibv_context *context;
    uint32_t handle;
};

struct standin_blob {
    uint32_t handle;
    uint32_t umem_id;
};

/*
 * Kernel handles: a thread takes back at once what it gave last, as the kernel's lowest-free rule mostly does, and
 * threads do not meet.
 */
uint32_t standin_take_handle(void);
void standin_give_handle(uint32_t handle);

#endif
