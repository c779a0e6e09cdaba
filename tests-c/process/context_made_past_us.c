/*
 * A context is opened where the guard does not see it (dlsym, without the auditor), and used where it does. What is made
 * in it is known; that its end may come past us too is taken into account: nothing is said of what only looks left.
 *
 * run: --audit=off
 * options: leaks=all
 * expect: none
 * nearly: reference-lost, held-at-exit, pd-unimport-busy
 */
#include "../common/trace.h"
#include "../common/unguarded.h"

static int unguarded_close(struct ibv_context *context)
{
	int (*close_device)(struct ibv_context *);

	*(void **)&close_device = own_function("libibverbs.so.1", "ibv_close_device");
	return close_device(context);
}

static int unguarded_dereg(struct ibv_mr *mr)
{
	int (*dereg)(struct ibv_mr *);

	*(void **)&dereg = own_function("libibverbs.so.1", "ibv_dereg_mr");
	return dereg(mr);
}

int main(void)
{
	struct ibv_context *context = unguarded_open();
	struct ibv_pd *pd = alloc_pd(context), *imported = import_pd(context, pd->handle);
	struct ibv_mr *mr = reg_mr(imported);

	/* Ended past us: a child, a reference, at last the context itself. */
	MUST(unguarded_dereg(mr) == 0);
	VOID(ibv_unimport_pd(imported));
	MUST(unguarded_dealloc_pd(pd) == 0);
	MUST(INT(ibv_close_device(context)) == 0);

	context = unguarded_open();
	MUST(alloc_pd(context));
	MUST(unguarded_close(context) == 0);

	/* Most likely at the address of the last one, on another device file. */
	context = unguarded_open();
	pd = alloc_pd(context);
	MUST(INT(ibv_dealloc_pd(pd)) == 0);
	MUST(INT(ibv_close_device(context)) == 0);
	return 0;
}
