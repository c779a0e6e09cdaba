/*
 * A memory region on no PD, and the end of no memory region.
 *
 * expect: error null-argument in ibv_reg_mr (pd) refused
 * expect: error null-argument in ibv_import_mr (pd) refused
 * expect: error null-argument in ibv_dereg_mr (mr) refused
 * expect: error null-argument in ibv_unimport_mr (mr) refused
 * parity: no, the real library dereferences NULL
 */
#include "../common/trace.h"

int main(void)
{
	struct ibv_context *context = open_device();

	MUST(!PTR(ibv_reg_mr(NULL, buffer, PAGE, 1)) && errno == EINVAL);
	MUST(!PTR(ibv_import_mr(NULL, 1)) && errno == EINVAL);
	MUST(INT(ibv_dereg_mr(NULL)) == EINVAL);
	VOID(ibv_unimport_mr(NULL));
	INT(ibv_close_device(context));
	return 0;
}
