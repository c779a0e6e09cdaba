/*
 * Queues are made on an import that was released, by name and in attributes.
 *
 * expect: error pd-used-after-release in ibv_create_qp (pd) refused
 * expect: error pd-used-after-release in ibv_create_srq (pd) refused
 * expect: error pd-used-after-release in ibv_create_qp_ex (qp_init_attr_ex->pd) refused
 * expect: error pd-used-after-release in mlx5dv_create_qp (qp_attr->pd) refused
 * parity: no, the real library reads free memory
 */
#include "../common/queues.h"

int main(void)
{
	struct ibv_context *context = open_device();
	struct ibv_pd *pd = alloc_pd(context);
	struct ibv_cq *cq = create_cq(context);
	struct ibv_pd *imported = import_pd(context, pd->handle);
	struct ibv_qp_init_attr attr = qp_attr(cq);
	struct ibv_qp_init_attr_ex extended = qp_attr_ex(cq, imported);
	struct ibv_srq_init_attr srq_attr = { .attr = { .max_wr = 4, .max_sge = 1 } };
	struct mlx5dv_qp_init_attr mlx5 = { 0 };

	VOID(ibv_unimport_pd(imported));
	MUST(!PTR(ibv_create_qp(imported, &attr)) && errno == EINVAL);
	MUST(!PTR(ibv_create_srq(imported, &srq_attr)) && errno == EINVAL);
	MUST(!PTR(ibv_create_qp_ex(context, &extended)) && errno == EINVAL);
	MUST(!PTR(mlx5dv_create_qp(context, &extended, &mlx5)) && errno == EINVAL);
	MUST(INT(ibv_destroy_cq(cq)) == 0);
	MUST(INT(ibv_dealloc_pd(pd)) == 0);
	INT(ibv_close_device(context));
	return 0;
}
