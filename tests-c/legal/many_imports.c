/*
 * Legal 3: one PD, imported many times, into its own context and another.
 *
 * expect: none
 */
#include "../common/trace.h"

int main(void)
{
	struct ibv_context *context = open_device();
	struct ibv_context *other = share(context);
	struct ibv_pd *pd = alloc_pd(context), *imported[8];

	for (int i = 0; i < 8; i++)
		imported[i] = import_pd(i % 2 ? other : context, pd->handle);
	for (int i = 0; i < 8; i++) {
		INT(ibv_dereg_mr(reg_mr(imported[i])));
		VOID(ibv_unimport_pd(imported[i]));
	}
	INT(ibv_dealloc_pd(pd));
	INT(ibv_close_device(other));
	INT(ibv_close_device(context));
	return 0;
}
