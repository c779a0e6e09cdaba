/*
 * Imports a handle that nothing has, again and again, and prints what one of these calls costs in microseconds of
 * processor time.
 */
#include "../common/trace.h"

#include <time.h>

#define TIMES 50

static long microseconds(void)
{
	struct timespec cost;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cost);
	return cost.tv_sec * 1000000L + cost.tv_nsec / 1000;
}

int main(void)
{
	struct ibv_context *context = open_device();
	long before;

	MUST(!ibv_import_pd(context, 99));
	before = microseconds();
	for (int i = 0; i < TIMES; i++)
		MUST(!ibv_import_pd(context, 99));
	printf("cost %ld\n", (microseconds() - before) / TIMES);
	return 0;
}
