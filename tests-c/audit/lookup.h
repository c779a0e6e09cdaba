/* What the programs of this folder share: they open rdma-core for themselves and ask for its functions by name. */
#ifndef LOOKUP_H
#define LOOKUP_H

#include "../common/trace.h"

#include <dlfcn.h>

__attribute__((unused)) static void *open_library(const char *name, int flags)
{
	void *library = dlopen(name, flags);

	if (!library)
		fprintf(stderr, "%s\n", dlerror());
	MUST(library);
	return library;
}

/* Whether the address lies in a library whose file is called so. */
static int is_in(void *address, const char *name)
{
	Dl_info info;
	const char *file;

	if (!address || !dladdr(address, &info))
		return 0;
	file = strrchr(info.dli_fname, '/');
	return strncmp(file ? file + 1 : info.dli_fname, name, strlen(name)) == 0;
}

__attribute__((unused)) static int is_guards(void *address)
{
	return is_in(address, "libverbsguard.so");
}

__attribute__((unused)) static int is_real(void *address)
{
	return is_in(address, "libibverbs") || is_in(address, "libmlx5");
}

/* The function that a library, or the search order, answers with; it must be the guard's. */
#define ASK(type, library, name) ((type *)guards(dlsym(library, name)))
#define ASK_AT(type, library, name, node) ((type *)guards(dlvsym(library, name, node)))

__attribute__((unused)) static void *guards(void *address)
{
	MUST(is_guards(address));
	return address;
}

typedef struct ibv_context *import_device_function(int);
typedef void unimport_pd_function(struct ibv_pd *);
typedef int dealloc_pd_function(struct ibv_pd *);
typedef int dereg_mr_function(struct ibv_mr *);
typedef int umem_dereg_function(struct mlx5dv_devx_umem *);

#endif
