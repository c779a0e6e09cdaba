/*
 * Queues on no PD and in no context, and the end of none.
 *
 * expect: error null-argument in ibv_create_qp (pd) refused
 * expect: error null-argument in ibv_create_srq (pd) refused
 * expect: error null-argument in ibv_create_ah (pd) refused
 * expect: error null-argument in ibv_create_cq (context) refused
 * expect: error null-argument in ibv_destroy_qp (qp) refused
 * expect: error null-argument in ibv_destroy_srq (srq) refused
 * expect: error null-argument in ibv_destroy_ah (ah) refused
 * expect: error null-argument in ibv_destroy_cq (cq) refused
 * expect: error null-argument in ibv_destroy_comp_channel (channel) refused
 * parity: no, the real library dereferences NULL
 */
#include "../common/queues.h"

int main(void)
{
	struct ibv_context *context = open_device();
	struct ibv_qp_init_attr attr = { 0 };
	struct ibv_srq_init_attr srq_attr = { 0 };
	struct ibv_ah_attr ah_attr = { 0 };

	MUST(!PTR(ibv_create_qp(NULL, &attr)) && errno == EINVAL);
	MUST(!PTR(ibv_create_srq(NULL, &srq_attr)) && errno == EINVAL);
	MUST(!PTR(ibv_create_ah(NULL, &ah_attr)) && errno == EINVAL);
	MUST(!PTR(ibv_create_cq(NULL, 1, NULL, NULL, 0)) && errno == EINVAL);
	MUST(INT(ibv_destroy_qp(NULL)) == EINVAL);
	MUST(INT(ibv_destroy_srq(NULL)) == EINVAL);
	MUST(INT(ibv_destroy_ah(NULL)) == EINVAL);
	MUST(INT(ibv_destroy_cq(NULL)) == EINVAL);
	MUST(INT(ibv_destroy_comp_channel(NULL)) == EINVAL);
	INT(ibv_close_device(context));
	return 0;
}
