/* A finding that needs no device, and whether the loader takes the program for a privileged one. */
#include <stddef.h>
#include <stdio.h>
#include <sys/auxv.h>

#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>

int main(void)
{
	printf("secure %lu\n", getauxval(AT_SECURE));
	return ibv_alloc_pd(NULL) != NULL;
}
