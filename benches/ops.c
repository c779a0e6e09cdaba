#include "ops.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void die(const char *what)
{
    perror(what);
    exit(2);
}

static void *import_umem(struct env *env)
{
    return mlx5dv_devx_umem_import(env->importer, env->blob);
}

static void unimport_umem(void *made)
{
    mlx5dv_devx_umem_unimport(made);
}

static void *reg_umem(struct env *env)
{
    return mlx5dv_devx_umem_reg(env->context, env->buffer, sizeof(env->buffer), IBV_ACCESS_LOCAL_WRITE);
}

static void dereg_umem(void *made)
{
    if (mlx5dv_devx_umem_dereg(made))
        die("mlx5dv_devx_umem_dereg");
}

static void *import_pd(struct env *env)
{
    return ibv_import_pd(env->importer, env->pd_handle);
}

static void unimport_pd(void *made)
{
    ibv_unimport_pd(made);
}

static void *alloc_pd(struct env *env)
{
    return ibv_alloc_pd(env->context);
}

static void dealloc_pd(void *made)
{
    if (ibv_dealloc_pd(made))
        die("ibv_dealloc_pd");
}

static void *reg_mr(struct env *env)
{
    return ibv_reg_mr(env->pd, env->buffer, sizeof(env->buffer), IBV_ACCESS_LOCAL_WRITE);
}

static void dereg_mr(void *made)
{
    if (ibv_dereg_mr(made))
        die("ibv_dereg_mr");
}

/* Not a pair: the data path, which nobody may slow down. */
static void *post_send(struct env *env)
{
    static struct ibv_send_wr wr;
    static __thread struct ibv_qp qp;
    struct ibv_send_wr *bad;

    qp.context = env->context;
    if (ibv_post_send(&qp, &wr, &bad))
        die("ibv_post_send");
    return env->context;
}

static void poll_cq(void *context)
{
    static __thread struct ibv_cq cq;
    struct ibv_wc wc;

    cq.context = context;
    if (ibv_poll_cq(&cq, 1, &wc))
        die("ibv_poll_cq");
}

static const struct op ops[] = {
    {"umem_import", import_umem, unimport_umem}, {"umem_reg", reg_umem, dereg_umem},
    {"import_pd", import_pd, unimport_pd},       {"alloc_pd", alloc_pd, dealloc_pd},
    {"reg_mr", reg_mr, dereg_mr},                {"post_poll", post_send, poll_cq},
};

const struct op *op_named(const char *name)
{
    for (size_t i = 0; i < sizeof(ops) / sizeof(*ops); i++)
        if (strcmp(ops[i].name, name) == 0)
            return &ops[i];
    fprintf(stderr, "no operation '%s'\n", name);
    exit(2);
}

struct ibv_context *open_context(int cmd_fd)
{
    struct ibv_context *context;

    if (cmd_fd >= 0) {
        context = ibv_import_device(cmd_fd);
    } else {
        struct ibv_device **list = ibv_get_device_list(NULL);

        if (!list || !list[0])
            die("no device");
        struct mlx5dv_context_attr attr = {.flags = MLX5DV_CONTEXT_FLAGS_DEVX};

        context = mlx5dv_open_device(list[0], &attr);
        ibv_free_device_list(list);
    }
    if (!context)
        die("no context");
    return context;
}

void own_objects(struct env *env, struct ibv_context *context, struct ibv_context *importer)
{
    env->context = context;
    env->importer = importer;
    env->pd = ibv_alloc_pd(context);
    env->umem = reg_umem(env);
    if (!env->pd || !env->umem || mlx5dv_devx_umem_export(env->umem, env->blob))
        die("no objects");
    env->pd_handle = env->pd->handle;
}

void release_objects(struct env *env)
{
    dereg_umem(env->umem);
    dealloc_pd(env->pd);
}

#define SITE(n)                                                                                                        \
    static __attribute__((noinline)) struct ibv_pd *site##n(struct env *env)                                           \
    {                                                                                                                  \
        struct ibv_pd *made = ibv_import_pd(env->importer, env->pd_handle);                                             \
        __asm__ volatile("" : : "r"(made), "i"(n));                                                                    \
        return made;                                                                                                   \
    }
#define TEN(x, n) x(n##0) x(n##1) x(n##2) x(n##3) x(n##4) x(n##5) x(n##6) x(n##7) x(n##8) x(n##9)
#define HUNDRED(x) TEN(x, 1) TEN(x, 2) TEN(x, 3) TEN(x, 4) TEN(x, 5) TEN(x, 6) TEN(x, 7) TEN(x, 8) TEN(x, 9) TEN(x, 10)
#define NAME(n) site##n,

HUNDRED(SITE)

struct ibv_pd *import_pd_at(unsigned int site, struct env *env)
{
    static struct ibv_pd *(*const sites[SITES])(struct env *) = {HUNDRED(NAME)};

    return sites[site % SITES](env);
}
