/*
 * A CQ where a PD belongs, and a PD where a QP does.
 *
 * expect: error wrong-kind in ibv_dealloc_pd (pd) refused
 * expect: error wrong-kind in ibv_reg_mr (pd) refused
 * expect: error wrong-kind in ibv_destroy_qp (qp) refused
 * parity: no, the real library frees what is still in use
 */
#include "../common/queues.h"

int main(void)
{
	struct ibv_context *context = open_device();
	struct ibv_pd *pd = alloc_pd(context);
	struct ibv_cq *cq = create_cq(context);

	MUST(INT(ibv_dealloc_pd((struct ibv_pd *)cq)) == EINVAL);
	MUST(!PTR(ibv_reg_mr((struct ibv_pd *)cq, buffer, PAGE, 0)) && errno == EINVAL);
	MUST(INT(ibv_destroy_qp((struct ibv_qp *)pd)) == EINVAL);
	MUST(INT(ibv_destroy_cq(cq)) == 0);
	MUST(INT(ibv_dealloc_pd(pd)) == 0);
	INT(ibv_close_device(context));
	return 0;
}
