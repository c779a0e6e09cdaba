/* What the verbs of an actor have in common: its named objects, and how a verb ends. */
#ifndef VERBS_H
#define VERBS_H

#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>

#include "truth.h"

enum kind {
	NOTHING, FD, CONTEXT, PD, MR, MW, UMEM, BLOB, TD, CHANNEL, CQ, SRQ, QP,
};

struct object {
	char name[NAME_SIZE];
	enum kind kind;
	/* Ended: only a step that says so, with a `!`, may still name it. */
	bool ended;
	union {
		int fd;
		void *pointer;
		struct ibv_context *context;
		struct ibv_pd *pd;
		struct ibv_mr *mr;
		struct ibv_mw *mw;
		struct ibv_td *td;
		struct ibv_comp_channel *channel;
		struct ibv_cq *cq;
		struct ibv_srq *srq;
		struct ibv_qp *qp;
		struct mlx5dv_devx_umem *umem;
	};
	/* The memory behind an MR or a UMEM. */
	void *memory;
	size_t size;
};

struct call {
	const struct request *request;
	struct reply *reply;
};

struct verb {
	const char *name;
	void (*perform)(struct call *call);
};

extern const struct verb context_verbs[], fd_verbs[], pd_verbs[], umem_verbs[], queue_verbs[], raw_verbs[];

/*
 * The object that the call's argument names; the actor ends where it has none of this kind. `p!` may have been ended
 * already, `umem:u` one of another kind, `null` none at all.
 */
struct object *object(struct call *call, int argument, enum kind kind);
/* A descriptor, a context's command descriptor, or a number: #-1. */
int descriptor(struct call *call, int argument);
/* The value of NAME=VALUE among the arguments. */
unsigned long long option(struct call *call, const char *name, unsigned long long otherwise);
const char *text_option(struct call *call, const char *name);
_Noreturn void bad_call(struct call *call, const char *why);

/* A call that makes something has answered with this pointer; errno is its. */
struct object *made(struct call *call, enum kind kind, void *pointer);
struct object *made_fd(struct call *call, int fd);
/* A call that ends an object has answered; only success ends it. */
void ended(struct call *call, struct object *object, int result);
void answered(struct call *call, int result);

/* Memory as the options say: size=, at=normal|unmapped|forbidden|readonly|wrapping|null, offset=. */
void *memory_for(struct call *call, size_t *size);

#endif
