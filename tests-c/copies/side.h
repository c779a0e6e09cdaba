/*
 * One side of a process with two copies of rdma-core: what a plugin that is linked with one of them can do. The two
 * plugins are compiled from side.c, each with its own copy; a program opens both and never calls verbs itself, unless it
 * says so.
 */
#ifndef SIDE_H
#define SIDE_H

#include "../common/trace.h"

#include <dlfcn.h>

struct side {
	struct ibv_context *(*open)(void);
	/* A second context on the device file of a context, which may be of another copy. */
	struct ibv_context *(*import_device)(int fd);
	int (*close)(struct ibv_context *);
	struct ibv_pd *(*alloc_pd)(struct ibv_context *);
	int (*dealloc_pd)(struct ibv_pd *);
	struct ibv_pd *(*import_pd)(struct ibv_context *, uint32_t handle);
	void (*unimport_pd)(struct ibv_pd *);
	struct ibv_mr *(*reg_mr)(struct ibv_pd *, void *, size_t);
	int (*dereg_mr)(struct ibv_mr *);
	struct mlx5dv_devx_umem *(*reg_umem)(struct ibv_context *, void *, size_t);
	int (*dereg_umem)(struct mlx5dv_devx_umem *);
	/* Inline verbs, through pointers in the context. */
	struct ibv_pd *(*alloc_parent_domain)(struct ibv_context *, struct ibv_pd *);
};

#ifndef THE_SIDE
/* Whether the function lies in a library of this name. */
static int is_in(const void *function, const char *name)
{
	Dl_info info;
	const char *file;

	if (!dladdr(function, &info))
		return 0;
	file = strrchr(info.dli_fname, '/');
	return strncmp(file ? file + 1 : info.dli_fname, name, strlen(name)) == 0;
}

__attribute__((unused)) static struct side *open_side(const char *path, int flags)
{
	void *library = dlopen(path, RTLD_NOW | flags);
	struct side *side;

	if (!library)
		fprintf(stderr, "%s\n", dlerror());
	MUST(library);
	side = dlsym(library, "side");
	MUST(side);
	return side;
}

/* The premise of these tests: the context is of that copy. */
static struct ibv_context *of_copy(struct ibv_context *context, const char *mlx5)
{
	MUST(context);
	MUST(is_in((const void *)context->ops._compat_alloc_pd, mlx5));
	return context;
}

#define BUNDLED_MLX5 "libmlx5-1.so"
#define SYSTEM_MLX5 "libmlx5.so.1"
#endif

#endif
