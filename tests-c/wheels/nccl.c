/*
 * NCCL's own loader of verbs symbols and its wrappers, as its IB transport calls them, without a GPU.
 *
 * expect: none
 */
#include "hidden.h"

#define HIDDEN(name) (*(void **)&name = hidden(base, argv + 2, #name))

static int (*wrap_ibv_symbols)(void);
static int (*wrap_mlx5dv_symbols)(void);
static int (*wrap_ibv_get_device_list)(struct ibv_device ***, int *);
static int (*wrap_ibv_free_device_list)(struct ibv_device **);
static int (*wrap_ibv_open_device)(struct ibv_context **, struct ibv_device *);
static int (*wrap_ibv_close_device)(struct ibv_context *);
static int (*wrap_ibv_alloc_pd)(struct ibv_pd **, struct ibv_context *);
static int (*wrap_ibv_dealloc_pd)(struct ibv_pd *);
static int (*wrap_ibv_reg_mr)(struct ibv_mr **, struct ibv_pd *, void *, size_t, int);
static int (*wrap_ibv_reg_mr_iova2)(struct ibv_mr **, struct ibv_pd *, void *, size_t, uint64_t, int);
static int (*wrap_ibv_dereg_mr)(struct ibv_mr *);
static int (*wrap_ibv_create_cq)(struct ibv_cq **, struct ibv_context *, int, void *, struct ibv_comp_channel *, int);
static int (*wrap_ibv_destroy_cq)(struct ibv_cq *);

static void find_all(char *base, char **argv)
{
	HIDDEN(wrap_ibv_symbols);
	HIDDEN(wrap_mlx5dv_symbols);
	HIDDEN(wrap_ibv_get_device_list);
	HIDDEN(wrap_ibv_free_device_list);
	HIDDEN(wrap_ibv_open_device);
	HIDDEN(wrap_ibv_close_device);
	HIDDEN(wrap_ibv_alloc_pd);
	HIDDEN(wrap_ibv_dealloc_pd);
	HIDDEN(wrap_ibv_reg_mr);
	HIDDEN(wrap_ibv_reg_mr_iova2);
	HIDDEN(wrap_ibv_dereg_mr);
	HIDDEN(wrap_ibv_create_cq);
	HIDDEN(wrap_ibv_destroy_cq);
}

int main(int argc, char **argv)
{
	struct ibv_device **list;
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_mr *mr, *other;
	struct ibv_cq *cq;
	int count;

	MUST(argc > 1);
	find_all(base_of(open_wheel(argv[1]), "ncclGetVersion"), argv);
	MUST(INT(wrap_ibv_symbols()) == 0);
	MUST(INT(wrap_mlx5dv_symbols()) == 0);
	MUST(INT(wrap_ibv_get_device_list(&list, &count)) == 0 && count == 1);
	MUST(INT(wrap_ibv_open_device(&context, list[0])) == 0);
	MUST(INT(wrap_ibv_free_device_list(list)) == 0);
	MUST(INT(wrap_ibv_alloc_pd(&pd, context)) == 0);
	MUST(INT(wrap_ibv_reg_mr(&mr, pd, buffer, sizeof(buffer), IBV_ACCESS_LOCAL_WRITE)) == 0);
	MUST(INT(wrap_ibv_reg_mr_iova2(&other, pd, buffer, sizeof(buffer), 0, IBV_ACCESS_LOCAL_WRITE)) == 0);
	MUST(INT(wrap_ibv_create_cq(&cq, context, 16, NULL, NULL, 0)) == 0);
	MUST(INT(wrap_ibv_destroy_cq(cq)) == 0);
	MUST(INT(wrap_ibv_dereg_mr(other)) == 0);
	MUST(INT(wrap_ibv_dereg_mr(mr)) == 0);
	MUST(INT(wrap_ibv_dealloc_pd(pd)) == 0);
	MUST(INT(wrap_ibv_close_device(context)) == 0);
	return 0;
}
