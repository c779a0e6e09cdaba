/*
 * NVSHMEM's own tables of verbs functions, filled by the loader in its IB transports, and called as these do, without a
 * GPU.
 *
 * expect: none
 */
#include "hidden.h"

/* More than the tables have. */
#define ENTRIES 128

static void *tables[2][ENTRIES];
static void *handles[2];

/* The entry of this name: what stands there is the guard's function, or rdma-core's, of that name. */
static void *entry(const char *name)
{
	Dl_info info;

	for (void **at = tables[0]; at < tables[0] + 2 * ENTRIES; at++)
		if (*at && dladdr(*at, &info) && info.dli_sname && strcmp(info.dli_sname, name) == 0)
			return *at;
	fprintf(stderr, "%s is in no table\n", name);
	_exit(99);
}

#define ENTRY(name, ...) (((__typeof__(name) *)entry(#name))(__VA_ARGS__))

int main(int argc, char **argv)
{
	int (*ibv_init)(void **, void *, int);
	int (*mlx5dv_init)(void **, void *, int);
	struct ibv_device **list;
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	char *base;
	int count;

	MUST(argc > 1);
	base = base_of(open_wheel(argv[1]), "nvshmemt_init");
	*(void **)&ibv_init = hidden(base, argv + 2, "nvshmemt_ibv_ftable_init");
	*(void **)&mlx5dv_init = hidden(base, argv + 2, "nvshmemt_mlx5dv_ftable_init");
	MUST(INT(ibv_init(&handles[0], tables[0], 0)) == 0);
	MUST(INT(mlx5dv_init(&handles[1], tables[1], 0)) == 0);
	list = ENTRY(ibv_get_device_list, &count);
	MUST(list && count == 1);
	MUST(ENTRY(mlx5dv_is_supported, list[0]));
	context = PTR(ENTRY(ibv_open_device, list[0]));
	MUST(context);
	pd = PTR(ENTRY(ibv_alloc_pd, context));
	MUST(pd);
	mr = PTR(((struct ibv_mr *(*)(struct ibv_pd *, void *, size_t, int))entry("ibv_reg_mr"))(
		pd, buffer, sizeof(buffer), IBV_ACCESS_LOCAL_WRITE));
	MUST(mr);
	MUST(INT(ENTRY(ibv_dereg_mr, mr)) == 0);
	MUST(INT(ENTRY(ibv_dealloc_pd, pd)) == 0);
	MUST(INT(ENTRY(ibv_close_device, context)) == 0);
	return 0;
}
