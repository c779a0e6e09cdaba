/*
 * The report that people read: what, where, where it was released and imported, and the closing line.
 *
 * options: gen_suppressions=1
 * log: stderr
 * shows: ERROR: verbsguard: pd-released-twice in ibv_unimport_pd(pd)
 * shows: was already released by ibv_unimport_pd
 * shows: here:      #0 second_time text.c:
 * shows: released:  #0 first_time text.c:
 * shows: imported:  #0 attach text.c:
 * shows: see ibv_import_pd(3); verbsguard explain pd-released-twice
 * shows: not forwarded (mode=guard)
 * shows: pd-released-twice:
 * shows: SUMMARY: verbsguard: 1 errors, 0 warnings, 0 lost objects
 * exit: 23
 * parity: no, the second call frees the struct again
 */
#include "../common/trace.h"

static struct ibv_pd *attached;

__attribute__((noinline)) static void attach(struct ibv_context *context, uint32_t handle)
{
	attached = ibv_import_pd(context, handle);
	MUST(attached);
}

__attribute__((noinline)) static void first_time(void)
{
	VOID(ibv_unimport_pd(attached));
}

__attribute__((noinline)) static void second_time(void)
{
	VOID(ibv_unimport_pd(attached));
}

int main(void)
{
	struct ibv_context *context = open_device();
	struct ibv_pd *pd = alloc_pd(context);

	attach(context, pd->handle);
	first_time();
	second_time();
	INT(ibv_dealloc_pd(pd));
	INT(ibv_close_device(context));
	return 0;
}
