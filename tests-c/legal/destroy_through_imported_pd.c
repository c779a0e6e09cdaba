/*
 * rules.md, legal 1: the importer destroys; the owner unimports.
 *
 * expect: none
 */
#include "../common/trace.h"

int main(void)
{
	struct ibv_context *context = open_device();
	struct ibv_context *other = share(context);
	struct ibv_pd *pd = alloc_pd(context);
	struct ibv_pd *imported = import_pd(other, pd->handle);

	MUST(INT(ibv_dealloc_pd(imported)) == 0);
	VOID(ibv_unimport_pd(pd));
	INT(ibv_close_device(other));
	INT(ibv_close_device(context));
	return 0;
}
