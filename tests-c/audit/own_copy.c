/* Has a function of libibverbs' linked in; for tests/doctor.rs. */
#include <dlfcn.h>
#include <stddef.h>

void *ibv_alloc_pd(void *context);

void *ibv_alloc_pd(void *context)
{
	return context;
}

int main(int argc, char **argv)
{
	return ibv_alloc_pd(argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL) != NULL;
}
