/*
 * rdma-core's own functions, by dlsym from the library itself: a preloaded guard does not see these calls. The auditor
 * would, so these programs say `run: --audit=off`.
 */
#include <dlfcn.h>

static void *own_function(const char *library, const char *name)
{
	void *handle = dlopen(library, RTLD_NOW | RTLD_NOLOAD);
	void *function = handle ? dlsym(handle, name) : NULL;

	MUST(function);
	return function;
}

__attribute__((unused)) static struct ibv_context *unguarded_open(void)
{
	struct mlx5dv_context_attr attr = { .flags = MLX5DV_CONTEXT_FLAGS_DEVX };
	struct ibv_context *(*open_with)(struct ibv_device *, struct mlx5dv_context_attr *);
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context;

	MUST(list && list[0]);
	*(void **)&open_with = own_function("libmlx5.so.1", "mlx5dv_open_device");
	context = open_with(list[0], &attr);
	MUST(context);
	ibv_free_device_list(list);
	return context;
}

__attribute__((unused)) static struct ibv_pd *unguarded_alloc_pd(struct ibv_context *context)
{
	struct ibv_pd *(*alloc)(struct ibv_context *);

	*(void **)&alloc = own_function("libibverbs.so.1", "ibv_alloc_pd");
	return alloc(context);
}

__attribute__((unused)) static int unguarded_dealloc_pd(struct ibv_pd *pd)
{
	int (*dealloc)(struct ibv_pd *);

	*(void **)&dealloc = own_function("libibverbs.so.1", "ibv_dealloc_pd");
	return dealloc(pd);
}

#ifdef NEEDS_UMEM_EXPORT
__attribute__((unused)) static void unguarded_destroy_umem(struct ibv_context *context, struct blob blob)
{
	struct mlx5dv_devx_umem *(*import)(struct ibv_context *, void *);
	int (*dereg)(struct mlx5dv_devx_umem *);
	struct mlx5dv_devx_umem *umem;

	*(void **)&import = own_function("libmlx5.so.1", "mlx5dv_devx_umem_import");
	*(void **)&dereg = own_function("libmlx5.so.1", "mlx5dv_devx_umem_dereg");
	umem = import(context, &blob);
	MUST(umem && dereg(umem) == 0);
}
#endif
