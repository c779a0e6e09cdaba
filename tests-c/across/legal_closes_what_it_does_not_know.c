/*
 * Legal 16: everyone closes every descriptor that it does not know, opens descriptor 2 anew, and closes the provider's
 * library.
 *
 * actors: 2, 3, 10
 * expect: none
 */
#include "company.h"

#include <dlfcn.h>

static long closes_the_rest(long unused)
{
	void *provider = dlopen("libmlx5.so.1", RTLD_NOW | RTLD_NOLOAD);

	for (int fd = 2; fd < 1024; fd++)
		if (fd != context->cmd_fd && fd != context->async_fd && fd != director_socket)
			close(fd);
	MUST(open("/dev/null", O_WRONLY) == 2);
	MUST(provider);
	for (int i = 0; i < 4; i++)
		dlclose(provider);
	return unused;
}

int main(void)
{
	actors();
	start_company();
	share_with_all();
	others(imports, ask(company[0], allocs, 0));
	everyone(closes_the_rest, 0);
	everyone(regs, 0);
	MUST(ask(company[0], deallocs, 0) == EBUSY);
	everyone(deregs, 0);
	others(unimports, 0);
	MUST(ask(company[0], deallocs, 0) == 0);
	everyone(closes, 0);
	return end_company(0);
}
