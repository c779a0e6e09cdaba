/*
 * A thread that is to be cancelled makes calls that are no cancellation points: what the guard does in them, which reads
 * and writes files, is none either. The thread goes on until it asks.
 *
 * expect: error pd-released-twice in ibv_unimport_pd refused
 * parity: no, unguarded a second unimport frees memory twice
 */
#include "../common/trace.h"

#include <pthread.h>

static struct ibv_context *context;
static struct ibv_pd *owned;
static int passed;

static void *doomed(void *unused)
{
	struct ibv_pd *pd = import_pd(context, owned->handle);

	MUST(pthread_cancel(pthread_self()) == 0);
	/* Each from a place of its own: stacks that are told for the first time. */
	ibv_unimport_pd(pd);
	passed = 1;
	ibv_unimport_pd(pd);
	passed = 2;
	pthread_testcancel();
	passed = 3;
	return unused;
}

int main(void)
{
	pthread_t thread;
	void *result;

	context = open_device();
	owned = alloc_pd(context);
	MUST(pthread_create(&thread, NULL, doomed, NULL) == 0 && pthread_join(thread, &result) == 0);
	printf("passed %d, %s\n", passed, result == PTHREAD_CANCELED ? "cancelled" : "not cancelled");
	MUST(passed == 2 && result == PTHREAD_CANCELED);
	INT(ibv_dealloc_pd(owned));
	INT(ibv_close_device(context));
	return 0;
}
