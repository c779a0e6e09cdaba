/*
 * The data path is the provider's own: nothing of it leads through the guard, in an opened context as in an imported one.
 *
 * expect: none
 */
#include "../common/trace.h"

#include <dlfcn.h>

static void is_providers(const char *name, void *function)
{
	Dl_info info;
	const char *file;

	MUST(function && dladdr(function, &info));
	file = strrchr(info.dli_fname, '/') ? strrchr(info.dli_fname, '/') + 1 : info.dli_fname;
	printf("%s: %s\n", name, strncmp(file, "libmlx5", 7) == 0 ? "libmlx5's" : file);
	MUST(strncmp(file, "libmlx5", 7) == 0);
}

static void look(struct ibv_context *context)
{
	is_providers("poll_cq", (void *)context->ops.poll_cq);
	is_providers("req_notify_cq", (void *)context->ops.req_notify_cq);
	is_providers("post_srq_recv", (void *)context->ops.post_srq_recv);
	is_providers("post_send", (void *)context->ops.post_send);
	is_providers("post_recv", (void *)context->ops.post_recv);
}

int main(void)
{
	struct ibv_context *context = open_device();
	struct ibv_context *other = share(context);

	look(context);
	look(other);
	INT(ibv_close_device(other));
	INT(ibv_close_device(context));
	return 0;
}
