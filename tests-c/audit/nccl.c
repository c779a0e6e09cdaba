/*
 * As NCCL looks: the development name first, then the soname; each function at the node that it was built for.
 *
 * expect: error null-argument in ibv_unimport_pd (pd) refused
 * expect: error null-argument in ibv_dereg_mr (mr) refused
 * expect: error null-argument in mlx5dv_devx_umem_dereg (umem) refused
 */
#include "lookup.h"

static void *open_either(const char *first, const char *second)
{
	void *library = dlopen(first, RTLD_NOW);

	return library ? library : open_library(second, RTLD_NOW);
}

int main(void)
{
	void *verbs = open_either("libibverbs.so", "libibverbs.so.1");
	void *mlx5 = open_either("libmlx5.so", "libmlx5.so.1");

	guards(dlvsym(verbs, "ibv_open_device", "IBVERBS_1.1"));
	guards(dlvsym(verbs, "ibv_close_device", "IBVERBS_1.1"));
	guards(dlvsym(verbs, "ibv_alloc_pd", "IBVERBS_1.1"));
	guards(dlvsym(verbs, "ibv_dealloc_pd", "IBVERBS_1.1"));
	guards(dlvsym(verbs, "ibv_reg_mr", "IBVERBS_1.1"));
	guards(dlvsym(verbs, "ibv_reg_mr_iova2", "IBVERBS_1.8"));
	guards(dlvsym(verbs, "ibv_reg_dmabuf_mr", "IBVERBS_1.12"));
	guards(dlvsym(mlx5, "mlx5dv_devx_umem_reg", "MLX5_1.7"));
	guards(dlvsym(mlx5, "mlx5dv_devx_umem_reg_ex", "MLX5_1.19"));
	MUST(is_real(dlvsym(verbs, "ibv_get_device_list", "IBVERBS_1.1")));
	MUST(is_real(dlvsym(mlx5, "mlx5dv_query_device", "MLX5_1.0")));
	MUST(!dlvsym(verbs, "ibv_alloc_pd", "IBVERBS_1.8"));

	ASK_AT(unimport_pd_function, verbs, "ibv_unimport_pd", "IBVERBS_1.10")(NULL);
	MUST(ASK_AT(dereg_mr_function, verbs, "ibv_dereg_mr", "IBVERBS_1.1")(NULL) == EINVAL);
	MUST(ASK_AT(umem_dereg_function, mlx5, "mlx5dv_devx_umem_dereg", "MLX5_1.7")(NULL) == EINVAL);
	return 0;
}
