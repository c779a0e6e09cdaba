/*
 * A program that closes the provider and opens it again, before the guard has called it and after.
 *
 * expect: error null-argument in ibv_unimport_pd (pd) refused
 * expect: error null-argument in ibv_unimport_pd (pd) refused
 */
#include "lookup.h"

static void once(void)
{
	void *verbs = open_library("libibverbs.so.1", RTLD_NOW);
	void *mlx5 = open_library("libmlx5.so.1", RTLD_NOW);

	ASK(unimport_pd_function, verbs, "ibv_unimport_pd");
	ASK(umem_dereg_function, mlx5, "mlx5dv_devx_umem_dereg");
	MUST(dlclose(mlx5) == 0);
	MUST(dlclose(verbs) == 0);
}

int main(void)
{
	import_device_function *import_device;
	unimport_pd_function *unimport;
	void *verbs;

	once();
	verbs = open_library("libibverbs.so.1", RTLD_NOW);
	unimport = ASK(unimport_pd_function, verbs, "ibv_unimport_pd");
	import_device = ASK(import_device_function, verbs, "ibv_import_device");
	unimport(NULL);
	MUST(!import_device(-1) && errno == EINVAL);
	MUST(dlclose(verbs) == 0);
	/* The guard keeps what it called. */
	unimport(NULL);
	MUST(!import_device(-1) && errno == EINVAL);
	once();
	return 0;
}
