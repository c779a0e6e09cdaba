/*
 * Legal 1: the importer destroys; the owner exits.
 *
 * expect: none
 */
#include "../common/trace.h"

int main(void)
{
	struct ibv_context *context = open_device();
	struct ibv_context *other = share(context);
	struct ibv_pd *imported = import_pd(other, alloc_pd(context)->handle);

	MUST(INT(ibv_dealloc_pd(imported)) == 0);
	INT(ibv_close_device(other));
	return 0;
}
