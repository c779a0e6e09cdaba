/* Descriptors: passing, copying, opening them, and the locks that tell device files apart. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "verbs.h"

static void send_fd(struct call *call)
{
	answered(call, letterbox_send(call->request->args[1].text[0] - 'A', descriptor(call, 0)));
}

static void receive_fd(struct call *call)
{
	made_fd(call, letterbox_receive());
}

static void dup_fd(struct call *call)
{
	made_fd(call, dup(descriptor(call, 0)));
}

static void close_fd(struct call *call)
{
	struct object *fd = object(call, 0, FD);

	ended(call, fd, close(fd->fd) ? errno : 0);
}

/* Whether the descriptor is still open: 0 or EBADF. */
static void probe_fd(struct call *call)
{
	answered(call, fcntl(descriptor(call, 0), F_GETFD) < 0 ? errno : 0);
}

static void async_fd(struct call *call)
{
	made_fd(call, dup(object(call, 0, CONTEXT)->context->async_fd));
}

static int flags_of(struct call *call)
{
	const char *how = text_option(call, "how");

	if (how && !strcmp(how, "path"))
		return O_PATH;
	return how && !strcmp(how, "readonly") ? O_RDONLY : O_RDWR;
}

/* The node of the first device, whatever its number is by now. */
static void open_node(struct call *call)
{
	char path[64] = "/dev/infiniband/uverbs0";

	for (int i = 0; i < 8 && access(path, F_OK); i++)
		snprintf(path, sizeof(path), "/dev/infiniband/uverbs%d", i);
	made_fd(call, open(path, flags_of(call) | O_CLOEXEC));
}

static void open_null(struct call *call)
{
	made_fd(call, open("/dev/null", O_RDWR | O_CLOEXEC));
}

static void open_regular(struct call *call)
{
	char path[] = "/tmp/truth-XXXXXX";
	int fd = mkostemp(path, O_CLOEXEC);

	unlink(path);
	made_fd(call, fd);
}

static void open_pipe(struct call *call)
{
	int ends[2];

	made_fd(call, pipe2(ends, O_CLOEXEC) ? -1 : ends[0]);
}

/* Another open of the same node, through /proc. */
static void reopen(struct call *call)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", descriptor(call, 0));
	made_fd(call, open(path, flags_of(call) | O_CLOEXEC));
}

static struct flock byte_lock(struct call *call, short type)
{
	/* Far from what a program might lock; offsets that large are what a guard would use. */
	long long base = option(call, "far", 0) ? (1ULL << 63) - (1ULL << 48) : 0;

	return (struct flock){
		.l_type = type, .l_whence = SEEK_SET, .l_start = base + option(call, "byte", 5), .l_len = 1,
	};
}

static void lock_byte(struct call *call)
{
	struct flock lock = byte_lock(call, option(call, "shared", 0) ? F_RDLCK : F_WRLCK);

	answered(call, fcntl(descriptor(call, 0), F_OFD_SETLK, &lock) ? errno : 0);
}

static void unlock_byte(struct call *call)
{
	struct flock lock = byte_lock(call, F_UNLCK);

	answered(call, fcntl(descriptor(call, 0), F_OFD_SETLK, &lock) ? errno : 0);
}

/* 0 where a write lock would succeed, EAGAIN where another lock is in the way. */
static void ask_lock(struct call *call, int command)
{
	struct flock lock = byte_lock(call, F_WRLCK);

	if (fcntl(descriptor(call, 0), command, &lock))
		answered(call, errno);
	else
		answered(call, lock.l_type == F_UNLCK ? 0 : EAGAIN);
}

static void ask_as_file(struct call *call)
{
	ask_lock(call, F_OFD_GETLK);
}

static void ask_as_process(struct call *call)
{
	ask_lock(call, F_GETLK);
}

/* Process-owned, as a guard takes one to be alone while it elects a byte. */
static void lock_as_process(struct call *call)
{
	struct flock lock = byte_lock(call, F_WRLCK);

	answered(call, fcntl(descriptor(call, 0), F_SETLK, &lock) ? errno : 0);
}

/* 0 where /proc shows a lock on this very open file, ENOENT where it shows none. */
static void lock_shown(struct call *call)
{
	char path[64], text[1024] = "";
	FILE *info;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", descriptor(call, 0));
	info = fopen(path, "r");
	if (!info)
		return answered(call, errno);
	text[fread(text, 1, sizeof(text) - 1, info)] = 0;
	fclose(info);
	answered(call, strstr(text, "\nlock:") ? 0 : ENOENT);
}

/* 0 for a character device of the RDMA major, else ENODEV. */
static void is_device(struct call *call)
{
	struct stat status;

	if (fstat(descriptor(call, 0), &status))
		answered(call, errno);
	else
		answered(call, S_ISCHR(status.st_mode) && status.st_rdev >> 8 == 231 ? 0 : ENODEV);
}

const struct verb fd_verbs[] = {
	{ "send", send_fd },
	{ "receive", receive_fd },
	{ "dup", dup_fd },
	{ "close_fd", close_fd },
	{ "probe_fd", probe_fd },
	{ "async_fd", async_fd },
	{ "open_node", open_node },
	{ "open_null", open_null },
	{ "open_regular", open_regular },
	{ "open_pipe", open_pipe },
	{ "reopen", reopen },
	{ "lock", lock_byte },
	{ "unlock", unlock_byte },
	{ "ask_as_file", ask_as_file },
	{ "ask_as_process", ask_as_process },
	{ "lock_as_process", lock_as_process },
	{ "lock_shown", lock_shown },
	{ "is_device", is_device },
	{ NULL, NULL },
};
