/* Prints the shared objects in this process, for the runner's proof that it tests the right ones. */
#include "trace.h"

#include <link.h>

static int show(struct dl_phdr_info *info, size_t size, void *unused)
{
	char path[4096];

	(void)size;
	(void)unused;
	if (info->dlpi_name[0] && realpath(info->dlpi_name, path))
		puts(path);
	return 0;
}

int main(void)
{
	struct ibv_context *context = open_device();

	dl_iterate_phdr(show, NULL);
	INT(ibv_close_device(context));
	return 0;
}
