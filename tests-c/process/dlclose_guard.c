/*
 * dlclose of the guard, opened once more by name: it stays.
 *
 * expect: error pd-released-twice in ibv_dealloc_pd (pd) refused
 * parity: no, the second call reads and frees the struct again
 */
#include "../common/trace.h"

#include <dlfcn.h>

int main(void)
{
	struct ibv_context *context = open_device();
	struct ibv_pd *pd = alloc_pd(context);
	void *guard = dlopen("libverbsguard.so.0", RTLD_NOW | RTLD_NOLOAD);

	MUST(guard);
	for (int i = 0; i < 4; i++)
		dlclose(guard);
	INT(ibv_dealloc_pd(pd));
	INT(ibv_dealloc_pd(pd));
	INT(ibv_close_device(context));
	return 0;
}
