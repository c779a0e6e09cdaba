/*
 * PDs released by an atexit handler and a destructor are no leaks, whatever leaks= says.
 *
 * options: leaks=all
 * expect: none
 */
#include "../common/trace.h"

static struct ibv_context *context, *other;
static struct ibv_pd *pd, *imported;

static void handler(void)
{
	VOID(ibv_unimport_pd(imported));
	INT(ibv_close_device(other));
}

__attribute__((destructor)) static void destructor(void)
{
	INT(ibv_dealloc_pd(pd));
	INT(ibv_close_device(context));
}

int main(void)
{
	MUST(atexit(handler) == 0);
	context = open_device();
	other = share(context);
	pd = alloc_pd(context);
	imported = import_pd(other, pd->handle);
	return 0;
}
