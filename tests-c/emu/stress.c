/* stress ROUNDS: 4 processes with 4 threads each make and destroy objects on one device file. */
#define _GNU_SOURCE
#include <infiniband/verbs.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PROCESSES = 4, THREADS = 4 };

static struct ibv_context *context;
static int rounds;

static void *work(void *memory)
{
	for (int i = 0; i < rounds; i++) {
		struct ibv_pd *pd = ibv_alloc_pd(context);
		struct ibv_mr *mr = pd ? ibv_reg_mr(pd, memory, 4096, IBV_ACCESS_LOCAL_WRITE) : NULL;

		if (!mr || ibv_dealloc_pd(pd) == 0 || ibv_dereg_mr(mr) || ibv_dealloc_pd(pd)) {
			perror("a call went wrong");
			exit(1);
		}
	}
	return NULL;
}

static int many_threads(void)
{
	static char memory[THREADS][4096];
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, work, memory[i]))
			return 1;
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	return 0;
}

int main(int argc, char **argv)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	int status, bad = 0;

	rounds = argc == 2 ? atoi(argv[1]) : 0;
	context = list && list[0] ? ibv_open_device(list[0]) : NULL;
	if (!context || rounds < 1)
		return 2;
	for (int i = 0; i < PROCESSES; i++)
		if (fork() == 0)
			exit(many_threads());
	while (wait(&status) > 0)
		bad += !!status;
	printf("%d calls, %d processes failed\n", PROCESSES * THREADS * rounds * 5, bad);
	return bad || ibv_close_device(context);
}
