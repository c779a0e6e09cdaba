/*
 * Memory of other kinds than the program's own: the device's, another descriptor's, none; regions that move; doorbell
 * pages, and what is exported of them.
 */
#include "objects.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>

enum { PAGE = 4096 };

static char bytes[4 * PAGE] __attribute__((aligned(PAGE)));
static const char fixed[2 * PAGE] __attribute__((aligned(PAGE))) = { 1 };
static struct ibv_context *context;
static struct ibv_pd *pd;

static struct ibv_dm *new_dm(size_t length)
{
	struct ibv_alloc_dm_attr attr = { .length = length };

	return ibv_alloc_dm(context, &attr);
}

static void device_memory(void)
{
	const unsigned int access = IBV_ACCESS_ZERO_BASED | IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ;
	char in[64] = "said to the device", out[64] = "";
	struct ibv_dm *dm, *other, *imported;
	struct ibv_mr *mr;

	NEED(dm = new_dm(5000));
	NEED(other = new_dm(64));
	LIVE("dm", 2);
	ANSWERS(0, ibv_memcpy_to_dm(dm, 4800, in, sizeof(in)));
	ANSWERS(0, ibv_memcpy_from_dm(out, dm, 4800, sizeof(out)));
	NEED(!strcmp(in, out));
	ANSWERS(0, ibv_memcpy_from_dm(out, other, 0, sizeof(out)));
	NEED(!*out);
	NEED(imported = ibv_import_dm(context, dm->handle));
	ANSWERS(0, ibv_memcpy_from_dm(out, imported, 4800, sizeof(out)));
	NEED(!strcmp(in, out));
	ibv_unimport_dm(imported);
	NEED(mr = ibv_reg_dm_mr(pd, dm, 8, 64, access));
	NEED(mr->lkey && mr->rkey);
	ANSWERS(EBUSY, ibv_free_dm(dm));
	ANSWERS(EBUSY, ibv_dealloc_pd(pd));
	NEED(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_PD, pd, NULL, 0, 0) != 0);
	ANSWERS(0, ibv_dereg_mr(mr));
	REFUSED(EINVAL, ibv_reg_dm_mr(pd, dm, 4990, 64, access));
	ANSWERS(0, ibv_free_dm(dm));
	NEED(dm = new_dm(128 << 10 >> 1));
	NEED(!new_dm(128 << 10));
	ANSWERS(0, ibv_free_dm(dm));
	fail_next("alloc_dm", ENOMEM);
	NEED(!new_dm(64));
	ANSWERS(0, ibv_free_dm(other));
	NEED(dm = new_dm(128 << 10));
	ANSWERS(0, ibv_free_dm(dm));
	LIVE("dm", 0);
	LIVE("mr", 0);
}

/* A region of nothing: libmlx5 makes it, the device does not know of it. */
static void null_region(void)
{
	struct ibv_mr *mr;

	NEED(mr = ibv_alloc_null_mr(pd));
	NEED(mr->lkey);
	LIVE("mr", 0);
	ANSWERS(0, ibv_dereg_mr(mr));
}

static void other_descriptors(void)
{
	int fd = memfd_create("memory", MFD_CLOEXEC);
	struct ibv_mr *mr, *other;

	NEED(fd >= 0 && !ftruncate(fd, 2 * PAGE));
	NEED(mr = ibv_reg_dmabuf_mr(pd, PAGE, PAGE, 0, fd, IBV_ACCESS_LOCAL_WRITE));
	NEED(other = ibv_reg_dmabuf_mr(pd, 0, PAGE, 0, fd, IBV_ACCESS_LOCAL_WRITE));
	NEED(mr->lkey != other->lkey);
	LIVE("mr", 2);
	REFUSED(EINVAL, ibv_reg_dmabuf_mr(pd, PAGE, 2 * PAGE, 0, fd, IBV_ACCESS_LOCAL_WRITE));
	fail_next("reg_dmabuf_mr", ENOMEM);
	REFUSED(ENOMEM, ibv_reg_dmabuf_mr(pd, 0, PAGE, 0, fd, IBV_ACCESS_LOCAL_WRITE));
	ANSWERS(0, ibv_dereg_mr(other));
	ANSWERS(0, ibv_dereg_mr(mr));
	close(fd);
}

static void moved_regions(void)
{
	struct ibv_pd *other = ibv_alloc_pd(context);
	struct ibv_mr *mr;

	NEED(other && (mr = ibv_reg_mr(pd, bytes, PAGE, IBV_ACCESS_LOCAL_WRITE)));
	NEED(!ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_PD, other, NULL, 0, 0));
	ANSWERS(EBUSY, ibv_dealloc_pd(other));
	NEED(!ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, bytes + PAGE, 2 * PAGE, 0));
	NEED(mr->addr == bytes + PAGE && mr->length == 2 * PAGE);
	/* It is still written to, which this memory does not allow. */
	NEED(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, (void *)fixed, PAGE, 0) && errno == EFAULT);
	NEED(!ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION | IBV_REREG_MR_CHANGE_ACCESS, NULL, (void *)fixed, PAGE,
			   IBV_ACCESS_REMOTE_READ));
	ANSWERS(0, ibv_dereg_mr(mr));
	ANSWERS(0, ibv_dealloc_pd(other));
}

static void windows(void)
{
	struct ibv_mw *mw, *other;

	NEED(mw = ibv_alloc_mw(pd, IBV_MW_TYPE_1));
	NEED(other = ibv_alloc_mw(pd, IBV_MW_TYPE_2));
	NEED(mw->rkey && mw->rkey != other->rkey);
	ANSWERS(EBUSY, ibv_dealloc_pd(pd));
	ANSWERS(0, ibv_dealloc_mw(mw));
	ANSWERS(0, ibv_dealloc_mw(other));
}

static void pages(void)
{
	struct mlx5dv_devx_uar *uar, *other;
	struct mlx5dv_var *var;
	struct mlx5dv_pp *rate, *same;
	char context_bytes[16] = { 0 };
	void *mapped;

	NEED(uar = mlx5dv_devx_alloc_uar(context, MLX5DV_UAR_ALLOC_TYPE_BF));
	NEED(other = mlx5dv_devx_alloc_uar(context, MLX5DV_UAR_ALLOC_TYPE_NC));
	NEED(uar->page_id && uar->page_id != other->page_id);
	*(volatile char *)uar->reg_addr = 1;
	mlx5dv_devx_free_uar(other);
	mlx5dv_devx_free_uar(uar);
	NEED(var = mlx5dv_alloc_var(context, 0));
	LIVE("var", 1);
	NEED(var->length == PAGE);
	mapped = mmap(NULL, var->length, PROT_READ | PROT_WRITE, MAP_SHARED, context->cmd_fd, var->mmap_off);
	NEED(mapped != MAP_FAILED);
	*(volatile char *)mapped = 1;
	NEED(!munmap(mapped, var->length));
	mlx5dv_free_var(var);
	NEED(rate = mlx5dv_pp_alloc(context, sizeof(context_bytes), context_bytes, 0));
	NEED(same = mlx5dv_pp_alloc(context, sizeof(context_bytes), context_bytes, 0));
	NEED(rate->index && rate->index != same->index);
	LIVE("pp", 2);
	mlx5dv_pp_free(rate);
	mlx5dv_pp_free(same);
	fail_next("alloc_var", ENOMEM);
	REFUSED(ENOMEM, mlx5dv_alloc_var(context, 0));
	fail_next("pp_alloc", ENOMEM);
	REFUSED(ENOMEM, mlx5dv_pp_alloc(context, sizeof(context_bytes), context_bytes, 0));
	LIVE("var", 0);
	LIVE("pp", 0);
}

/* The table of packet rates has few entries. */
static void exhausted(void)
{
	struct mlx5dv_pp *rates[200];
	char bytes_of_one[16] = { 0 };
	int count = 0;

	while (count < 200 && (rates[count] = mlx5dv_pp_alloc(context, sizeof(bytes_of_one), bytes_of_one, 0)))
		count++;
	NEED(count == 127 && errno == ENOMEM);
	mlx5dv_pp_free(rates[60]);
	NEED(rates[60] = mlx5dv_pp_alloc(context, sizeof(bytes_of_one), bytes_of_one, 0));
	while (count--)
		mlx5dv_pp_free(rates[count]);
	LIVE("pp", 0);
}

/* Memory that libmlx5 provides, where it does (from rdma-core 64 on). */
static void provided_memory(void)
{
	void *(*alloc_buf)(struct ibv_pd *, size_t, void **) = dlsym(RTLD_DEFAULT, "ibv_alloc_buf");
	void (*free_buf)(void *) = dlsym(RTLD_DEFAULT, "ibv_free_buf");
	struct ibv_mr *mr;
	void *buf, *start;

	if (!alloc_buf)
		return;
	NEED(free_buf && (start = alloc_buf(pd, PAGE, &buf)));
	NEED(mr = ibv_reg_mr(pd, start, PAGE, IBV_ACCESS_LOCAL_WRITE));
	ANSWERS(0, ibv_dereg_mr(mr));
	free_buf(buf);
}

static void removed(void)
{
	struct ibv_dm *dm = new_dm(64);
	struct mlx5dv_var *var = mlx5dv_alloc_var(context, 0);

	NEED(dm && var);
	ask("{\"op\":\"remove\",\"device\":0}");
	LIVE("dm", 0);
	NEED(!new_dm(64));
	REFUSED(EIO, mlx5dv_alloc_var(context, 0));
	mlx5dv_free_var(var);
	ANSWERS(0, ibv_free_dm(dm));
}

int main(void)
{
	context = open_context();
	NEED(pd = ibv_alloc_pd(context));
	device_memory();
	null_region();
	other_descriptors();
	moved_regions();
	windows();
	pages();
	exhausted();
	provided_memory();
	removed();
	ANSWERS(0, ibv_dealloc_pd(pd));
	close_context(context);
	printf("good\n");
	return 0;
}
