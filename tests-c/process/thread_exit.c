/*
 * A thread ends by pthread_exit from below a verbs call's frame, another by cancellation between calls.
 *
 * expect: none
 */
#include "../common/trace.h"

#include <pthread.h>

static struct ibv_context *context;

static void *leave(void *unused)
{
	INT(ibv_dealloc_pd(alloc_pd(context)));
	pthread_exit(unused);
}

static void *linger(void *unused)
{
	for (;;) {
		struct ibv_pd *pd = ibv_alloc_pd(context);

		MUST(pd && ibv_dealloc_pd(pd) == 0);
		pthread_testcancel();
	}
	return unused;
}

int main(void)
{
	pthread_t thread;
	void *result;

	context = open_device();
	MUST(pthread_create(&thread, NULL, leave, NULL) == 0 && pthread_join(thread, NULL) == 0);
	MUST(pthread_create(&thread, NULL, linger, NULL) == 0);
	usleep(20000);
	MUST(pthread_cancel(thread) == 0 && pthread_join(thread, &result) == 0);
	MUST(result == PTHREAD_CANCELED);
	INT(ibv_dealloc_pd(alloc_pd(context)));
	INT(ibv_close_device(context));
	return 0;
}
