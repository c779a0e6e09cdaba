/*
 * Two opens of one device: the same handles in both, and no confusion.
 *
 * expect: none
 */
#include "../common/trace.h"

int main(void)
{
	struct ibv_context *first = open_device();
	struct ibv_context *second = open_device();
	struct ibv_pd *one = alloc_pd(first), *two = alloc_pd(second);

	MUST(one->handle == two->handle);
	VOID(ibv_unimport_pd(import_pd(first, two->handle)));
	MUST(INT(ibv_dealloc_pd(one)) == 0);
	INT(ibv_dereg_mr(reg_mr(two)));
	MUST(INT(ibv_dealloc_pd(two)) == 0);
	INT(ibv_close_device(second));
	INT(ibv_close_device(first));
	return 0;
}
