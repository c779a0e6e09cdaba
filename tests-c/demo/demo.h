/* Small helpers, so that the demo programs show only what they are about. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>

/* Every demo call must succeed; a bug that is being shown is not a failing call. */
#define CHECK(call)                                                            \
	__extension__({                                                        \
		__typeof__(call) result_ = (call);                             \
		if (!result_) {                                                \
			perror(#call);                                         \
			exit(1);                                               \
		}                                                              \
		result_;                                                       \
	})

__attribute__((unused)) static struct ibv_context *open_device(void)
{
	struct mlx5dv_context_attr attr = { .flags = MLX5DV_CONTEXT_FLAGS_DEVX };
	struct ibv_device **list = CHECK(ibv_get_device_list(NULL));
	struct ibv_context *context = CHECK(mlx5dv_open_device(CHECK(list[0]), &attr));

	ibv_free_device_list(list);
	setvbuf(stdout, NULL, _IOLBF, 0);
	return context;
}

/* What a second process does with the descriptor that it was sent. */
__attribute__((unused)) static struct ibv_context *open_shared(struct ibv_context *context)
{
	return CHECK(ibv_import_device(dup(context->cmd_fd)));
}

static char buffer[16384] __attribute__((aligned(4096), unused));
