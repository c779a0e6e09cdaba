/* rxe_link NAME NETDEV: makes an rxe device on a network device, as `rdma link add NAME type rxe netdev NETDEV` does. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <linux/netlink.h>
#include <rdma/rdma_netlink.h>

struct request {
	struct nlmsghdr header;
	char attributes[256];
};

static void add(struct request *request, unsigned short type, const char *text)
{
	char *at = (char *)request + NLMSG_ALIGN(request->header.nlmsg_len);
	struct nlattr attribute = { .nla_len = NLA_HDRLEN + strlen(text) + 1, .nla_type = type };

	memcpy(at, &attribute, sizeof(attribute));
	strcpy(at + NLA_HDRLEN, text);
	request->header.nlmsg_len = NLMSG_ALIGN(request->header.nlmsg_len) + NLA_ALIGN(attribute.nla_len);
}

int main(int argc, char **argv)
{
	struct request request = { .header = { .nlmsg_len = NLMSG_HDRLEN,
					       .nlmsg_type = RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_NEWLINK),
					       .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK } };
	struct {
		struct nlmsghdr header;
		struct nlmsgerr error;
		char rest[512];
	} answer = { 0 };
	int fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_RDMA);

	if (argc != 3 || strlen(argv[1]) > 15 || strlen(argv[2]) > 15) {
		fprintf(stderr, "usage: rxe_link NAME NETDEV\n");
		return 2;
	}
	add(&request, RDMA_NLDEV_ATTR_DEV_NAME, argv[1]);
	add(&request, RDMA_NLDEV_ATTR_LINK_TYPE, "rxe");
	add(&request, RDMA_NLDEV_ATTR_NDEV_NAME, argv[2]);
	if (fd < 0 || send(fd, &request, request.header.nlmsg_len, 0) < 0 || recv(fd, &answer, sizeof(answer), 0) < 0) {
		perror("rxe_link");
		return 1;
	}
	if (answer.error.error)
		fprintf(stderr, "rxe_link: %s\n", strerror(-answer.error.error));
	return answer.error.error != 0;
}
