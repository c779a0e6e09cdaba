/*
 * The whole way of a shared PD and its children, every function looked up by name: all of it is seen, and what is wrong
 * is told. What was made by look-ups is known where it is used.
 *
 * expect: error pd-released-twice in ibv_unimport_pd (pd) refused
 * expect: error umem-released-twice in mlx5dv_devx_umem_dereg (umem) refused
 */
#include "lookup.h"

#define LOOK_UP(library, name) __typeof__(name) *their_##name = (__typeof__(name) *)dlsym(library, #name)

int main(void)
{
	void *verbs = open_library("libibverbs.so.1", RTLD_NOW);
	void *mlx5 = open_library("libmlx5.so.1", RTLD_NOW);
	LOOK_UP(verbs, ibv_get_device_list);
	LOOK_UP(verbs, ibv_free_device_list);
	LOOK_UP(verbs, ibv_import_device);
	LOOK_UP(verbs, ibv_close_device);
	LOOK_UP(verbs, ibv_alloc_pd);
	LOOK_UP(verbs, ibv_import_pd);
	LOOK_UP(verbs, ibv_unimport_pd);
	LOOK_UP(verbs, ibv_dealloc_pd);
	LOOK_UP(verbs, ibv_reg_mr);
	LOOK_UP(verbs, ibv_dereg_mr);
	LOOK_UP(mlx5, mlx5dv_open_device);
	LOOK_UP(mlx5, mlx5dv_devx_umem_reg);
	LOOK_UP(mlx5, mlx5dv_devx_umem_dereg);
	struct mlx5dv_context_attr attr = { .flags = MLX5DV_CONTEXT_FLAGS_DEVX };
	struct ibv_device **list = their_ibv_get_device_list(NULL);
	struct ibv_context *owner, *importer;
	struct mlx5dv_devx_umem *umem;
	struct ibv_pd *pd, *imported;
	struct ibv_mr *mr;

	MUST(is_guards((void *)their_ibv_alloc_pd));
	MUST(list && list[0]);
	owner = their_mlx5dv_open_device(list[0], &attr);
	their_ibv_free_device_list(list);
	MUST(owner);
	importer = their_ibv_import_device(dup(owner->cmd_fd));
	MUST(importer);
	pd = their_ibv_alloc_pd(owner);
	MUST(pd);
	imported = their_ibv_import_pd(importer, pd->handle);
	MUST(imported);
	mr = their_ibv_reg_mr(imported, buffer, sizeof(buffer), IBV_ACCESS_LOCAL_WRITE);
	MUST(mr);
	MUST(their_ibv_dealloc_pd(pd) == EBUSY);
	MUST(their_ibv_dereg_mr(mr) == 0);
	their_ibv_unimport_pd(imported);
	their_ibv_unimport_pd(imported);
	MUST(their_ibv_dealloc_pd(pd) == 0);
	umem = their_mlx5dv_devx_umem_reg(owner, buffer, sizeof(buffer), IBV_ACCESS_LOCAL_WRITE);
	MUST(umem);
	MUST(their_mlx5dv_devx_umem_dereg(umem) == 0);
	MUST(their_mlx5dv_devx_umem_dereg(umem) == EINVAL);
	MUST(their_ibv_close_device(importer) == 0);
	MUST(their_ibv_close_device(owner) == 0);
	return 0;
}
