/*
 * garbage: random ioctls to an emulated device and random messages to its daemon's sockets; and one request that is
 * never gone on with. After all that the device must still serve everybody.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { IOCTLS = 3000, MESSAGES = 1500, WORDS = 64 };

/* As emu/proto has them. */
static const uint64_t magic = 0x7665726273676401, kind_open = 1, kind_ioctl = 2;

static void scramble(unsigned char *bytes, size_t size)
{
	while (size--)
		*bytes++ = random() % 4 ? random() % 24 : random();
}

static void random_ioctls(int fd)
{
	unsigned char message[512];

	for (int i = 0; i < IOCTLS; i++) {
		struct ib_uverbs_ioctl_hdr *header = (void *)message;

		scramble(message, sizeof(message));
		if (i % 4) {
			header->num_attrs = random() % 8;
			header->length = sizeof(*header) + header->num_attrs * sizeof(struct ib_uverbs_attr);
			header->driver_id = RDMA_DRIVER_MLX5;
			header->reserved1 = header->reserved2 = 0;
			header->object_id = random() % 20 + (random() % 2 ? 0x1000 : 0);
			header->method_id = random() % 8 + (random() % 2 ? 0x1000 : 0);
		}
		ioctl(fd, RDMA_VERBS_IOCTL, message);
	}
}

static int connect_to(const char *name)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%.80s/%s", getenv("VERBSGUARD_EMU"), name);
	if (connect(fd, (void *)&address, sizeof(address))) {
		perror(address.sun_path);
		exit(1);
	}
	return fd;
}

static void send_with_fds(int to, void *bytes, size_t size, int count, int fd)
{
	char control[CMSG_SPACE(8 * sizeof(int))] = { 0 };
	struct iovec part = { bytes, size };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };

	if (count) {
		struct cmsghdr *rights = (void *)control;

		message.msg_control = control;
		message.msg_controllen = CMSG_SPACE(count * sizeof(int));
		rights->cmsg_level = SOL_SOCKET;
		rights->cmsg_type = SCM_RIGHTS;
		rights->cmsg_len = CMSG_LEN(count * sizeof(int));
		for (int i = 0; i < count; i++)
			memcpy(CMSG_DATA(rights) + i * sizeof(int), &fd, sizeof(fd));
	}
	sendmsg(to, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void random_messages(const char *name)
{
	uint64_t words[WORDS];

	for (int i = 0; i < MESSAGES; i++) {
		int fd = connect_to(name), pair[2];

		if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair))
			exit(1);
		scramble((void *)words, sizeof(words));
		if (i % 3) {
			words[0] = magic;
			words[1] = random() % 7;
		}
		send_with_fds(fd, words, random() % sizeof(words) + 1, random() % 8, random() % 2 ? pair[1] : 0);
		close(pair[1]);
		scramble((void *)words, sizeof(words));
		send(pair[0], words, random() % sizeof(words), MSG_NOSIGNAL | MSG_DONTWAIT);
		close(pair[0]);
		close(fd);
	}
}

static int ask(int fd, uint64_t kind, const void *payload, size_t size)
{
	uint64_t words[WORDS] = { magic, kind, 0x1000 };
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair))
		exit(1);
	memcpy(words + 6, payload, size);
	send_with_fds(fd, words, 48 + size, 1, pair[1]);
	close(pair[1]);
	return pair[0];
}

/* Whether one request is answered while another of the same device file waits for its program. */
static int others_go_on(void)
{
	struct timeval patience = { .tv_sec = 5 };
	struct {
		struct ib_uverbs_ioctl_hdr header;
		struct ib_uverbs_attr attrs[3];
	} query = { .header = { .length = sizeof(query), .object_id = UVERBS_OBJECT_DEVICE,
				.method_id = UVERBS_METHOD_INVOKE_WRITE, .num_attrs = 3, .driver_id = RDMA_DRIVER_MLX5 },
		    .attrs = { { .attr_id = UVERBS_ATTR_CORE_IN, .len = 64, .data = 0x1000 },
			       { .attr_id = UVERBS_ATTR_CORE_OUT, .len = 64, .data = 0x1000 },
			       { .attr_id = UVERBS_ATTR_WRITE_CMD, .len = 8, .data = IB_USER_VERBS_CMD_REG_MR } } };
	int fd = connect_to("uverbs0");
	int silent = ask(fd, kind_ioctl, &query, sizeof(query)), other;
	uint64_t answer[WORDS];

	/* The daemon's own question is there: from here on it waits for us. */
	setsockopt(silent, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	if (recv(silent, answer, sizeof(answer), 0) <= 0 || answer[0] != 1)
		return 0;
	other = ask(fd, kind_open, "", 0);
	setsockopt(other, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	return recv(other, answer, sizeof(answer), 0) > 0;
}

int main(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context = list && list[0] ? ibv_open_device(list[0]) : NULL;
	struct ibv_pd *pd;

	if (!context)
		return 2;
	srandom(4242);
	random_ioctls(context->cmd_fd);
	random_ioctls(open("/dev/infiniband/uverbs0", O_RDWR));
	random_messages("uverbs0");
	random_messages("control");
	if (!others_go_on()) {
		fprintf(stderr, "a request that its program does not go on with keeps others waiting\n");
		return 1;
	}
	context = ibv_open_device(list[0]);
	pd = context ? ibv_alloc_pd(context) : NULL;
	if (!pd || ibv_dealloc_pd(pd) || ibv_close_device(context)) {
		perror("the device is gone");
		return 1;
	}
	puts("still there");
	return 0;
}
