/*
 * A forked child has contexts of its own, in which inline verbs find their way; so do they in a signal handler that
 * comes in the middle of another call.
 *
 * expect: none
 */
#include "../common/queues.h"

#include <signal.h>

static struct ibv_pd *handlers_pd;

static void on_signal(int unused)
{
	(void)unused;
	struct ibv_mw *mw = ibv_alloc_mw(handlers_pd, IBV_MW_TYPE_1);

	if (!mw || ibv_dealloc_mw(mw) != 0)
		_exit(98);
}

static void use(struct ibv_context *context)
{
	struct ibv_pd *pd = alloc_pd(context), *domain = alloc_parent_domain(pd);
	struct ibv_cq *cq = create_cq(context);
	struct ibv_qp_init_attr_ex attr = qp_attr_ex(cq, pd);
	struct ibv_mw *mw = alloc_mw(domain);
	struct ibv_qp *qp;

	handlers_pd = pd;
	qp = PTR(ibv_create_qp_ex(context, &attr));
	MUST(qp);
	MUST(raise(SIGUSR1) == 0);
	MUST(INT(ibv_destroy_qp(qp)) == 0);
	MUST(INT(ibv_dealloc_mw(mw)) == 0);
	MUST(INT(ibv_destroy_cq(cq)) == 0);
	MUST(INT(ibv_dealloc_pd(domain)) == 0);
	MUST(INT(ibv_dealloc_pd(pd)) == 0);
}

static void child(struct ibv_context *inherited)
{
	struct ibv_context *context = open_device();

	(void)inherited;
	use(context);
	MUST(INT(ibv_close_device(context)) == 0);
}

int main(void)
{
	struct ibv_context *context = open_device();

	signal(SIGUSR1, on_signal);
	use(context);
	MUST(in_child(child, context) == 0);
	use(context);
	INT(ibv_close_device(context));
	return 0;
}
