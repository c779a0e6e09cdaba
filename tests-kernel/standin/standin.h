/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * A stand-in for the mlx5 driver: libmlx5 takes it for one, there is no hardware behind it. All that is to be judged
 * (handles, reference counts, EBUSY, lifetime, clean-up) is the work of the real ib_core and ib_uverbs above it; the
 * stand-in only says yes, pins memory through ib_umem, and counts what is alive.
 */
#ifndef STANDIN_H
#define STANDIN_H

#include <linux/atomic.h>
#include <linux/idr.h>
#include <rdma/ib_umem.h>
#include <rdma/ib_verbs.h>
#include <rdma/mlx5-abi.h>
#include <rdma/mlx5_user_ioctl_cmds.h>
#include <rdma/mlx5_user_ioctl_verbs.h>
#include <rdma/uverbs_ioctl.h>

#define UVERBS_MODULE_NAME mlx5_standin
#include <rdma/uverbs_named_ioctl.h>

enum standin_kind { CONTEXT, PD, MR, MW, UMEM, UAR, CQ, QP, SRQ, KINDS };

struct standin_context {
	struct ib_ucontext ib;
	bool devx;
};

struct standin_pd {
	struct ib_pd ib;
	u32 pdn;
};

/* control.c */
extern atomic_t standin_live[KINDS];
int standin_take_umem_dereg_failure(void);
void standin_control_init(void);
void standin_control_exit(void);

/* device.c */
int standin_plug(void);
void standin_unplug(void);

/* context.c */
extern const struct ib_device_ops standin_context_ops;
extern const struct uapi_definition standin_context_defs[];

/* memory.c */
extern const struct ib_device_ops standin_memory_ops;
extern const struct uapi_definition standin_memory_defs[];
/* A number that is unique on the device, as pdns, umem ids and keys are: the lowest free one. */
int standin_number(struct ida *numbers);

/* queues.c */
extern const struct ib_device_ops standin_queue_ops;

/* An answer in the caller's UHW buffer, as much of it as the caller has room for. */
static inline int standin_answer(struct ib_udata *udata, void *answer, size_t size)
{
	return ib_copy_to_udata(udata, answer, min(size, udata->outlen));
}

#endif
