/*
 * Two threads make and destroy children, each in a context of its own and both on imports of one PD; contexts come and
 * go meanwhile.
 *
 * expect: none
 * expect: no note children-left
 */
#include "../common/queues.h"

#include <pthread.h>

#define ROUNDS 200

static uint32_t handle;

static void *work(void *argument)
{
	struct ibv_context *context = argument;
	struct ibv_cq *cq = ibv_create_cq(context, 16, NULL, NULL, 0);

	MUST(cq);
	for (int i = 0; i < ROUNDS; i++) {
		struct ibv_pd *pd = ibv_import_pd(context, handle);
		struct ibv_qp_init_attr_ex attr = qp_attr_ex(cq, pd);
		struct ibv_mw *mw;
		struct ibv_qp *qp;

		MUST(pd);
		mw = ibv_alloc_mw(pd, IBV_MW_TYPE_1);
		MUST(mw);
		qp = i % 8 ? NULL : ibv_create_qp_ex(context, &attr);
		MUST(i % 8 || qp);
		if (qp)
			MUST(ibv_destroy_qp(qp) == 0);
		MUST(ibv_dealloc_mw(mw) == 0);
		ibv_unimport_pd(pd);
	}
	MUST(ibv_destroy_cq(cq) == 0);
	return NULL;
}

int main(void)
{
	struct ibv_context *context = open_device(), *shared = share(context);
	struct ibv_pd *pd = alloc_pd(context);
	pthread_t threads[2];

	handle = pd->handle;
	MUST(pthread_create(&threads[0], NULL, work, context) == 0);
	MUST(pthread_create(&threads[1], NULL, work, shared) == 0);
	for (int i = 0; i < 20; i++) {
		struct ibv_context *other = ibv_import_device(dup(context->cmd_fd));

		MUST(other && ibv_close_device(other) == 0);
	}
	MUST(pthread_join(threads[0], NULL) == 0);
	MUST(pthread_join(threads[1], NULL) == 0);
	MUST(INT(ibv_dealloc_pd(pd)) == 0);
	INT(ibv_close_device(shared));
	INT(ibv_close_device(context));
	return 0;
}
