/* What is measured: pairs of calls of which the second undoes the first. */
#ifndef OPS_H
#define OPS_H

#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>

/* What one thread works on: a context with objects of its own in it, and another on the same device file to import to. */
struct env {
    struct ibv_context *context, *importer;
    struct ibv_pd *pd;
    struct mlx5dv_devx_umem *umem;
    uint32_t blob[2];
    uint32_t pd_handle;
    char buffer[64];
};

struct op {
    const char *name;
    void *(*make)(struct env *env);
    void (*end)(void *made);
};

const struct op *op_named(const char *name);

/* A device file opened here, or known by its descriptor. */
struct ibv_context *open_context(int cmd_fd);

/* Gives the environment objects of its own. */
void own_objects(struct env *env, struct ibv_context *context, struct ibv_context *importer);
void release_objects(struct env *env);

/* Imports a PD from one of a hundred places in the program. */
#define SITES 100
struct ibv_pd *import_pd_at(unsigned int site, struct env *env);

void die(const char *what);

#endif
