/* Opening, importing, closing; and what a process does with itself. */
#define _GNU_SOURCE
#include <errno.h>
#include <grp.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "verbs.h"

static void open_with(struct call *call, bool devx)
{
	struct mlx5dv_context_attr attr = { .flags = devx ? MLX5DV_CONTEXT_FLAGS_DEVX : 0 };
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context;

	if (!list || !list[0]) {
		answered(call, ENODEV);
		return;
	}
	errno = 0;
	context = devx ? mlx5dv_open_device(list[0], &attr) : ibv_open_device(list[0]);
	made(call, CONTEXT, context);
	ibv_free_device_list(list);
}

static void open_device(struct call *call)
{
	open_with(call, true);
}

static void open_plain(struct call *call)
{
	open_with(call, false);
}

static void import_device(struct call *call)
{
	made(call, CONTEXT, ibv_import_device(descriptor(call, 0)));
}

static void close_device(struct call *call)
{
	struct object *context = object(call, 0, CONTEXT);

	ended(call, context, ibv_close_device(context->context) ? errno : 0);
}

static void query_device(struct call *call)
{
	struct ibv_device_attr attr;

	answered(call, ibv_query_device(object(call, 0, CONTEXT)->context, &attr));
}

static void query_port(struct call *call)
{
	struct ibv_port_attr attr;

	answered(call, ibv_query_port(object(call, 0, CONTEXT)->context, option(call, "port", 1), &attr));
}

/* A fork B: from now on B answers, with all that A had. */
static void fork_actor(struct call *call)
{
	pid_t child = fork();

	if (!child)
		actor_serve(call->request->args[0].text[0] - 'A');
	answered(call, child < 0 ? errno : 0);
	call->reply->value.id = child;
}

static void exit_now(struct call *call)
{
	(void)call;
	exit(0);
}

static void become(struct call *call)
{
	uid_t uid = option(call, "uid", 65534);

	answered(call, setgroups(0, NULL) || setgid(uid) || setuid(uid) ? errno : 0);
}

static void limit_memlock(struct call *call)
{
	struct rlimit limit = { .rlim_cur = option(call, "bytes", 0), .rlim_max = option(call, "bytes", 0) };

	answered(call, setrlimit(RLIMIT_MEMLOCK, &limit) ? errno : 0);
}

const struct verb context_verbs[] = {
	{ "open", open_device },
	{ "open_plain", open_plain },
	{ "import_device", import_device },
	{ "close", close_device },
	{ "query_device", query_device },
	{ "query_port", query_port },
	{ "fork", fork_actor },
	{ "exit", exit_now },
	{ "become", become },
	{ "limit_memlock", limit_memlock },
	{ NULL, NULL },
};
