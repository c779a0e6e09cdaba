/*
 * Legal 10: libibverbs' registrations call each other through their symbols; each region counts once.
 *
 * expect: none
 */
#include "../common/trace.h"

int main(void)
{
	struct ibv_context *context = open_device();
	struct ibv_pd *pd = alloc_pd(context);
	int access = getpid() ? IBV_ACCESS_LOCAL_WRITE : 0; /* not constant: the header then picks ibv_reg_mr_iova2 */
	struct ibv_mr *plain = PTR(ibv_reg_mr(pd, buffer, PAGE, IBV_ACCESS_LOCAL_WRITE));
	struct ibv_mr *variable = PTR(ibv_reg_mr(pd, buffer, PAGE, access));
	struct ibv_mr *moved = PTR(ibv_reg_mr_iova(pd, buffer, PAGE, 0, IBV_ACCESS_LOCAL_WRITE));
	struct ibv_mr *imported;

	MUST(plain && variable && moved);
	imported = PTR(ibv_import_mr(pd, plain->handle));
	MUST(imported);
	VOID(ibv_unimport_mr(imported));
	INT(ibv_dereg_mr(moved));
	INT(ibv_dereg_mr(variable));
	INT(ibv_dereg_mr(plain));
	MUST(INT(ibv_dealloc_pd(pd)) == 0);
	INT(ibv_close_device(context));
	return 0;
}
