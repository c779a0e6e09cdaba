/*
 * The number belongs to a new PD: a destroy through the old reference would take that one.
 *
 * expect: error pd-destroyed-elsewhere in ibv_dealloc_pd (pd) refused
 * parity: no, forwarded it destroys the new PD
 */
#include "../common/trace.h"

int main(void)
{
	struct ibv_context *context = open_device();
	struct ibv_pd *old = alloc_pd(context);
	struct ibv_pd *imported = import_pd(context, old->handle), *new;

	MUST(INT(ibv_dealloc_pd(imported)) == 0);
	new = alloc_pd(context);
	MUST(new->handle == old->handle);
	MUST(INT(ibv_dealloc_pd(old)) == ENOENT);
	VOID(ibv_unimport_pd(old));
	MUST(INT(ibv_dealloc_pd(new)) == 0);
	INT(ibv_close_device(context));
	return 0;
}
