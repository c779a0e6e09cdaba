/*
 * What the test programs share. Each call that matters is traced on stdout with its result and the errno it left, so
 * that a guarded and an unguarded run can be compared line by line. Addresses are never printed.
 */
#ifndef TRACE_H
#define TRACE_H

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>

/* No call of ours leaves this value, so a trace shows whether a call touched errno at all. */
#define UNTOUCHED 4242

/* PTR, INT, VOID: make the call, trace it, give its value. */
#define PTR(call)                                                              \
	__extension__({                                                        \
		errno = UNTOUCHED;                                             \
		__typeof__(call) value_ = (call);                              \
		int left_ = errno;                                             \
		printf("%s: %s, errno %d\n", #call, value_ ? "ok" : "NULL",    \
		       left_);                                                 \
		errno = left_;                                                 \
		value_;                                                        \
	})
#define INT(call)                                                              \
	__extension__({                                                        \
		errno = UNTOUCHED;                                             \
		int value_ = (call);                                           \
		int left_ = errno;                                             \
		printf("%s: %d, errno %d\n", #call, value_, left_);            \
		errno = left_;                                                 \
		value_;                                                        \
	})
#define VOID(call)                                                             \
	do {                                                                   \
		errno = UNTOUCHED;                                             \
		call;                                                          \
		printf("%s: errno %d\n", #call, errno);                        \
	} while (0)

/* The test's own premises. Exit status 99 says that the test is broken, not the guard. */
#define MUST(condition)                                                        \
	do {                                                                   \
		if (!(condition)) {                                            \
			fprintf(stderr, "%s:%d: %s does not hold (%s)\n",      \
				__FILE__, __LINE__, #condition,                \
				strerror(errno));                              \
			_exit(99);                                             \
		}                                                              \
	} while (0)

#define PAGE 4096
static char buffer[4 * PAGE] __attribute__((aligned(PAGE), unused));

/* A context on the first device, with DEVX: a device file of its own. */
__attribute__((unused)) static struct ibv_context *open_device(void)
{
	struct mlx5dv_context_attr attr = { .flags = MLX5DV_CONTEXT_FLAGS_DEVX };
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context;

	MUST(list && list[0]);
	context = PTR(mlx5dv_open_device(list[0], &attr));
	MUST(context);
	ibv_free_device_list(list);
	return context;
}

/* A second context on the same device file. */
__attribute__((unused)) static struct ibv_context *share(struct ibv_context *context)
{
	int fd = dup(context->cmd_fd);
	struct ibv_context *shared;

	MUST(fd >= 0);
	shared = PTR(ibv_import_device(fd));
	MUST(shared);
	return shared;
}

__attribute__((unused)) static struct ibv_pd *alloc_pd(struct ibv_context *context)
{
	struct ibv_pd *pd = PTR(ibv_alloc_pd(context));

	MUST(pd);
	return pd;
}

__attribute__((unused)) static struct ibv_pd *import_pd(struct ibv_context *context, uint32_t handle)
{
	struct ibv_pd *pd = PTR(ibv_import_pd(context, handle));

	MUST(pd);
	return pd;
}

__attribute__((unused)) static struct ibv_mr *reg_mr(struct ibv_pd *pd)
{
	struct ibv_mr *mr = PTR(ibv_reg_mr(pd, buffer, sizeof(buffer), IBV_ACCESS_LOCAL_WRITE));

	MUST(mr);
	return mr;
}

__attribute__((unused)) static struct mlx5dv_devx_umem *reg_umem(struct ibv_context *context)
{
	struct mlx5dv_devx_umem *umem =
		PTR(mlx5dv_devx_umem_reg(context, buffer, sizeof(buffer), IBV_ACCESS_LOCAL_WRITE));

	MUST(umem);
	return umem;
}

/* One page of its own, between two that nobody may touch. */
__attribute__((unused)) static char *lone_page(int protection)
{
	char *pages = mmap(NULL, 3 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	MUST(pages != MAP_FAILED);
	MUST(mprotect(pages + PAGE, PAGE, protection) == 0);
	return pages + PAGE;
}

/* Runs body in a child and gives its wait status. */
__attribute__((unused)) static int in_child(void (*body)(struct ibv_context *), struct ibv_context *context)
{
	int status;
	pid_t child;

	fflush(stdout);
	child = fork();
	MUST(child >= 0);
	if (child == 0) {
		body(context);
		exit(0);
	}
	MUST(waitpid(child, &status, 0) == child);
	return status;
}

#ifdef NEEDS_UMEM_EXPORT
struct blob {
	unsigned char bytes[64];
};

__attribute__((unused)) static struct blob export_umem(struct mlx5dv_devx_umem *umem)
{
	struct mlx5dv_export_sizes sizes;
	struct blob blob = { { 0 } };

	mlx5dv_get_export_sizes(&sizes);
	MUST(sizes.devx_umem_attrs_size <= sizeof(blob));
	MUST(INT(mlx5dv_devx_umem_export(umem, &blob)) == 0);
	return blob;
}

__attribute__((unused)) static struct mlx5dv_devx_umem *import_umem(struct ibv_context *context, struct blob blob)
{
	struct mlx5dv_devx_umem *umem = PTR(mlx5dv_devx_umem_import(context, &blob));

	MUST(umem);
	return umem;
}
#endif

#endif
