/* Brings its own defaults for the guard's options. Not linked with -rdynamic: the stub makes them visible. */
#include "../common/trace.h"

const char *verbsguard_default_options(void);
const char *verbsguard_default_options(void)
{
	return "disable=unimport-of-owned:severity=import-of-own=warning";
}

int main(void)
{
	struct ibv_context *context = open_device();
	struct ibv_pd *pd = alloc_pd(context);

	import_pd(context, pd->handle);
	VOID(ibv_unimport_pd(pd));
	return 0;
}
