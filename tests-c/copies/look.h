/* A side that is asked for by name, as NCCL does: a program opens the libraries and looks each function up. */
#include "side.h"

#define LOOK(field, library, name) (*(void **)&side->field = dlsym(library, name))

static struct ibv_context *(*open_with)(struct ibv_device *, struct mlx5dv_context_attr *);
static struct ibv_device **(*list_of)(int *);

static void look(struct side *side, const char *verbs_name, const char *mlx5_name)
{
	void *verbs = dlopen(verbs_name, RTLD_NOW | RTLD_LOCAL), *mlx5 = dlopen(mlx5_name, RTLD_NOW | RTLD_LOCAL);

	MUST(verbs && mlx5);
	LOOK(close, verbs, "ibv_close_device");
	LOOK(alloc_pd, verbs, "ibv_alloc_pd");
	LOOK(dealloc_pd, verbs, "ibv_dealloc_pd");
	LOOK(import_pd, verbs, "ibv_import_pd");
	LOOK(unimport_pd, verbs, "ibv_unimport_pd");
	*(void **)&list_of = dlsym(verbs, "ibv_get_device_list");
	*(void **)&open_with = dlsym(mlx5, "mlx5dv_open_device");
}

static struct ibv_context *open_looked_up(void)
{
	struct mlx5dv_context_attr attr = { .flags = MLX5DV_CONTEXT_FLAGS_DEVX };
	struct ibv_device **list = list_of(NULL);

	MUST(list && list[0]);
	return PTR(open_with(list[0], &attr));
}
