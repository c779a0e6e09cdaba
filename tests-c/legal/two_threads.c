/*
 * Legal 15: threads import, use and release references of one PD at once; handles and addresses are reused between them.
 *
 * expect: none
 */
#include "../common/trace.h"

#include <pthread.h>

#define ROUNDS 200

static struct ibv_context *context;
static struct ibv_pd *shared;

static void *work(void *unused)
{
	for (int i = 0; i < ROUNDS; i++) {
		struct ibv_pd *imported = ibv_import_pd(context, shared->handle);
		struct ibv_pd *own = ibv_alloc_pd(context);
		struct ibv_mr *mr;

		MUST(imported && own);
		mr = ibv_reg_mr(imported, buffer, PAGE, IBV_ACCESS_LOCAL_WRITE);
		MUST(mr && ibv_dereg_mr(mr) == 0);
		ibv_unimport_pd(imported);
		MUST(ibv_dealloc_pd(own) == 0);
	}
	return unused;
}

int main(void)
{
	pthread_t threads[2];

	context = open_device();
	shared = alloc_pd(context);
	for (int i = 0; i < 2; i++)
		MUST(pthread_create(&threads[i], NULL, work, NULL) == 0);
	for (int i = 0; i < 2; i++)
		MUST(pthread_join(threads[i], NULL) == 0);
	INT(ibv_dealloc_pd(shared));
	INT(ibv_close_device(context));
	return 0;
}
