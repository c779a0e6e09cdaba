/*
 * The interposed functions' prototypes next to the real headers: a parameter of another type is a conflict, and a
 * compile error. interposed.h is made from the Rust by cbindgen, real.h takes the address of each interposed function
 * before that, so on the newest rdma-core a function that its headers lack is an error too.
 */
#include <stddef.h>
#include <stdint.h>

#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>

/* The headers put macros before these. */
#undef ibv_reg_mr
#undef ibv_reg_mr_iova

/* What older headers do not know stays incomplete. */
struct ibv_buf;
struct ibv_dmah;
struct ibv_dmah_init_attr;
struct ibv_mr_init_attr;
struct mlx5dv_export_sizes;

#include "real.h"
#include "interposed.h"
