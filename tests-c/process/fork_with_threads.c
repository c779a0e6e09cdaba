/*
 * fork while other threads are in the middle of verbs calls: the child can use verbs at once.
 *
 * expect: none
 */
#include "../common/trace.h"

#include <pthread.h>

static struct ibv_context *context;
static volatile int stop;

static void *work(void *unused)
{
	while (!stop) {
		struct ibv_pd *pd = ibv_alloc_pd(context);

		MUST(pd);
		ibv_unimport_pd(ibv_import_pd(context, pd->handle));
		MUST(ibv_dealloc_pd(pd) == 0);
	}
	return unused;
}

static void use_own(struct ibv_context *inherited)
{
	struct ibv_context *own;
	struct ibv_device **list;

	(void)inherited;
	alarm(20);
	list = ibv_get_device_list(NULL);
	MUST(list && list[0]);
	own = ibv_open_device(list[0]);
	MUST(own);
	ibv_free_device_list(list);
	MUST(ibv_dealloc_pd(ibv_alloc_pd(own)) == 0);
	MUST(ibv_close_device(own) == 0);
	_exit(0);
}

int main(void)
{
	pthread_t threads[2];

	context = open_device();
	for (int i = 0; i < 2; i++)
		MUST(pthread_create(&threads[i], NULL, work, NULL) == 0);
	for (int i = 0; i < 20; i++)
		MUST(in_child(use_own, context) == 0);
	stop = 1;
	for (int i = 0; i < 2; i++)
		MUST(pthread_join(threads[i], NULL) == 0);
	INT(ibv_close_device(context));
	return 0;
}
