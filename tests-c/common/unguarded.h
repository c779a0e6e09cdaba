/* rdma-core's own functions, by dlsym from the library itself: a preloaded guard does not see these calls. */
#include <dlfcn.h>

static void *verbs_function(const char *name)
{
	void *library = dlopen("libibverbs.so.1", RTLD_NOW | RTLD_NOLOAD);
	void *function = library ? dlsym(library, name) : NULL;

	MUST(function);
	return function;
}

static struct ibv_pd *unguarded_alloc_pd(struct ibv_context *context)
{
	struct ibv_pd *(*alloc)(struct ibv_context *);

	*(void **)&alloc = verbs_function("ibv_alloc_pd");
	return alloc(context);
}

static int unguarded_dealloc_pd(struct ibv_pd *pd)
{
	int (*dealloc)(struct ibv_pd *);

	*(void **)&dealloc = verbs_function("ibv_dealloc_pd");
	return dealloc(pd);
}
