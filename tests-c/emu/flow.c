/*
 * flow owner SOCKET, flow importer SOCKET: two unrelated processes share a device file, a PD and, where the provider
 * has it, a UMEM, from open to close.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define NEED(what) ((what) ? (void)0 : give_up(#what, __LINE__))

struct offer {
	uint32_t pd_handle;
	int has_umem;
	char umem[64];
};

static char memory[8192];

static void give_up(const char *what, int line)
{
	fprintf(stderr, "line %d: %s: %s\n", line, what, strerror(errno));
	exit(1);
}

static int meet(const char *path, int listens)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);

	NEED(strlen(path) < sizeof(address.sun_path));
	strcpy(address.sun_path, path);
	if (listens) {
		unlink(path);
		NEED(!bind(fd, (void *)&address, sizeof(address)) && !listen(fd, 1));
		return accept(fd, NULL, NULL);
	}
	for (int i = 0; i < 5000 && connect(fd, (void *)&address, sizeof(address)); i++)
		usleep(1000);
	return fd;
}

static void send_offer(int to, const struct offer *offer, int fd)
{
	char control[CMSG_SPACE(sizeof(fd))] = { 0 };
	struct iovec part = { (void *)offer, sizeof(*offer) };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = control,
				  .msg_controllen = sizeof(control) };
	struct cmsghdr *rights = CMSG_FIRSTHDR(&message);

	rights->cmsg_level = SOL_SOCKET;
	rights->cmsg_type = SCM_RIGHTS;
	rights->cmsg_len = CMSG_LEN(sizeof(fd));
	memcpy(CMSG_DATA(rights), &fd, sizeof(fd));
	NEED(sendmsg(to, &message, 0) == sizeof(*offer));
}

static int receive_offer(int from, struct offer *offer)
{
	char control[CMSG_SPACE(sizeof(int))];
	struct iovec part = { offer, sizeof(*offer) };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = control,
				  .msg_controllen = sizeof(control) };
	int fd;

	NEED(recvmsg(from, &message, 0) == sizeof(*offer) && CMSG_FIRSTHDR(&message));
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(fd));
	return fd;
}

static void owner(int peer)
{
	int (*export_umem)(struct mlx5dv_devx_umem *, void *) = dlsym(RTLD_DEFAULT, "mlx5dv_devx_umem_export");
	struct mlx5dv_context_attr attr = { .flags = MLX5DV_CONTEXT_FLAGS_DEVX };
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context;
	struct mlx5dv_devx_umem *umem;
	struct offer offer = { 0 };
	struct ibv_pd *pd;
	char done;

	NEED(list && list[0]);
	NEED(context = mlx5dv_open_device(list[0], &attr));
	NEED(pd = ibv_alloc_pd(context));
	NEED(umem = mlx5dv_devx_umem_reg(context, memory, sizeof(memory), IBV_ACCESS_LOCAL_WRITE));
	offer.pd_handle = pd->handle;
	if (export_umem) {
		offer.has_umem = 1;
		NEED(!export_umem(umem, offer.umem));
	}
	send_offer(peer, &offer, context->cmd_fd);
	NEED(read(peer, &done, 1) == 1);
	NEED(!mlx5dv_devx_umem_dereg(umem));
	NEED(!ibv_dealloc_pd(pd));
	NEED(!ibv_close_device(context));
	ibv_free_device_list(list);
}

static void use_umem(struct ibv_context *context, void *bytes)
{
	struct mlx5dv_devx_umem *(*import)(struct ibv_context *, void *) = dlsym(RTLD_DEFAULT, "mlx5dv_devx_umem_import");
	void (*unimport)(struct mlx5dv_devx_umem *) = dlsym(RTLD_DEFAULT, "mlx5dv_devx_umem_unimport");
	struct mlx5dv_devx_umem *umem;

	NEED(import && unimport);
	NEED(umem = import(context, bytes));
	NEED(umem->umem_id);
	unimport(umem);
}

static void importer(int peer)
{
	struct ibv_context *context;
	struct offer offer;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	int fd = receive_offer(peer, &offer);

	NEED(context = ibv_import_device(fd));
	NEED(pd = ibv_import_pd(context, offer.pd_handle));
	NEED(mr = ibv_reg_mr(pd, memory, sizeof(memory), IBV_ACCESS_LOCAL_WRITE));
	if (offer.has_umem)
		use_umem(context, offer.umem);
	NEED(!ibv_dereg_mr(mr));
	ibv_unimport_pd(pd);
	NEED(!ibv_close_device(context));
	NEED(write(peer, "", 1) == 1);
	printf("shared a PD%s\n", offer.has_umem ? " and a UMEM" : "");
}

int main(int argc, char **argv)
{
	int is_owner = argc == 3 && !strcmp(argv[1], "owner");

	if (argc != 3) {
		fprintf(stderr, "usage: flow owner|importer SOCKET\n");
		return 2;
	}
	(is_owner ? owner : importer)(meet(argv[2], is_owner));
	return 0;
}
