/*
 * Legal 15, for UMEMs: registered, exported, imported and released by two threads at once.
 *
 * needs: 63
 * expect: none
 */
#define NEEDS_UMEM_EXPORT
#include "../common/trace.h"

#include <pthread.h>

#define ROUNDS 200

static struct ibv_context *context;

static void *work(void *unused)
{
	for (int i = 0; i < ROUNDS; i++) {
		struct mlx5dv_devx_umem *umem = mlx5dv_devx_umem_reg(context, buffer, PAGE, 1), *imported;
		struct blob blob;

		MUST(umem && mlx5dv_devx_umem_export(umem, &blob) == 0);
		imported = mlx5dv_devx_umem_import(context, &blob);
		MUST(imported);
		mlx5dv_devx_umem_unimport(imported);
		MUST(mlx5dv_devx_umem_dereg(umem) == 0);
	}
	return unused;
}

int main(void)
{
	pthread_t threads[2];

	context = open_device();
	for (int i = 0; i < 2; i++)
		MUST(pthread_create(&threads[i], NULL, work, NULL) == 0);
	for (int i = 0; i < 2; i++)
		MUST(pthread_join(threads[i], NULL) == 0);
	INT(ibv_close_device(context));
	return 0;
}
