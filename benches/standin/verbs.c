/* The stand-in libibverbs: one device, contexts on /dev/null, everything answered without a kernel. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "standin.h"

/* Enough for the most that any thread of the benchmark has freed and not taken again. */
#define KEPT 4096

static __thread uint32_t kept[KEPT];
static __thread unsigned int count;

uint32_t standin_take_handle(void)
{
    static uint32_t next;

    if (count)
        return kept[--count];
    /* Processes share the device file, so none may take another's. */
    return (((uint32_t)getpid() & 0xff) << 16) + __atomic_fetch_add(&next, 1, __ATOMIC_RELAXED);
}

void standin_give_handle(uint32_t handle)
{
    if (count < KEPT)
        kept[count++] = handle;
}

static struct ibv_device device = {.name = "mlx5_0", .dev_name = "uverbs0"};

struct ibv_device **(ibv_get_device_list)(int *num_devices)
{
    struct ibv_device **list = calloc(2, sizeof(*list));

    list[0] = &device;
    if (num_devices)
        *num_devices = 1;
    return list;
}

void ibv_free_device_list(struct ibv_device **list)
{
    free(list);
}

const char *ibv_get_device_name(struct ibv_device *which)
{
    return which->name;
}

static int post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
    (void)qp, (void)wr, (void)bad;
    return 0;
}

static int post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
    (void)qp, (void)wr, (void)bad;
    return 0;
}

static int poll_cq(struct ibv_cq *cq, int entries, struct ibv_wc *wc)
{
    (void)cq, (void)entries, (void)wc;
    return 0;
}

static int req_notify_cq(struct ibv_cq *cq, int solicited)
{
    (void)cq, (void)solicited;
    return 0;
}

static struct ibv_context *context_on(int fd)
{
    struct verbs_context *made = calloc(1, sizeof(*made));

    made->sz = sizeof(*made);
    made->context.abi_compat = __VERBS_ABI_IS_EXTENDED;
    made->context.device = &device;
    made->context.cmd_fd = fd;
    made->context.ops.post_send = post_send;
    made->context.ops.post_recv = post_recv;
    made->context.ops.poll_cq = poll_cq;
    made->context.ops.req_notify_cq = req_notify_cq;
    return &made->context;
}

struct ibv_context *ibv_open_device(struct ibv_device *which)
{
    int fd = open("/dev/null", O_RDWR | O_CLOEXEC);

    (void)which;
    return fd < 0 ? NULL : context_on(fd);
}

struct ibv_context *ibv_import_device(int cmd_fd)
{
    return context_on(cmd_fd);
}

int ibv_close_device(struct ibv_context *context)
{
    close(context->cmd_fd);
    free(verbs_get_ctx(context));
    return 0;
}

static struct ibv_pd *pd_of(struct ibv_context *context, uint32_t handle)
{
    struct standin_pd *made = malloc(sizeof(*made));

    made->pd = (struct ibv_pd){.context = context, .handle = handle};
    made->pdn = handle + 1000;
    return &made->pd;
}

struct ibv_pd *ibv_alloc_pd(struct ibv_context *context)
{
    return pd_of(context, standin_take_handle());
}

int ibv_dealloc_pd(struct ibv_pd *pd)
{
    standin_give_handle(pd->handle);
    free(pd);
    return 0;
}

struct ibv_pd *ibv_import_pd(struct ibv_context *context, uint32_t pd_handle)
{
    return pd_of(context, pd_handle);
}

void ibv_unimport_pd(struct ibv_pd *pd)
{
    free(pd);
}

struct ibv_mr *(ibv_reg_mr)(struct ibv_pd *pd, void *addr, size_t length, int access)
{
    struct ibv_mr *made = malloc(sizeof(*made));

    (void)access;
    *made = (struct ibv_mr){
        .context = pd->context, .pd = pd, .addr = addr, .length = length, .handle = standin_take_handle()};
    return made;
}

int ibv_dereg_mr(struct ibv_mr *mr)
{
    standin_give_handle(mr->handle);
    free(mr);
    return 0;
}
