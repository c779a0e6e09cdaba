/*
 * Everyone forks while threads of its own are in the middle of verbs calls: the children use what they inherited at
 * once, and nobody waits for a lock that no one will ever give back.
 *
 * actors: 2, 3, 10
 * expect: none
 */
#include "company.h"

#include <pthread.h>

static volatile int stop;

static void *works(void *unused)
{
	while (!stop) {
		struct ibv_pd *own = ibv_alloc_pd(context);

		MUST(own);
		ibv_unimport_pd(ibv_import_pd(context, pd->handle));
		MUST(ibv_dealloc_pd(own) == 0);
	}
	return unused;
}

static void uses_what_it_inherited(struct ibv_context *inherited)
{
	struct ibv_mr *region;

	alarm(20);
	region = ibv_reg_mr(pd, buffer, PAGE, IBV_ACCESS_LOCAL_WRITE);
	MUST(region && ibv_dereg_mr(region) == 0);
	ibv_unimport_pd(ibv_import_pd(inherited, pd->handle));
}

static long forks_under_load(long unused)
{
	pthread_t threads[2];

	for (int i = 0; i < 2; i++)
		MUST(pthread_create(&threads[i], NULL, works, NULL) == 0);
	for (int i = 0; i < 4; i++)
		MUST(in_child(uses_what_it_inherited, context) == 0);
	stop = 1;
	for (int i = 0; i < 2; i++)
		MUST(pthread_join(threads[i], NULL) == 0);
	return unused;
}

int main(void)
{
	actors();
	start_company();
	share_with_all();
	others(imports, ask(company[0], allocs, 0));
	at_once(forks_under_load, 0);
	others(unimports, 0);
	MUST(ask(company[0], deallocs, 0) == 0);
	everyone(closes, 0);
	return end_company(0);
}
