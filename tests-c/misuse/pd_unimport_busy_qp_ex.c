/*
 * The same with QPs that were made through the context's own pointer and by mlx5.
 *
 * expect: error pd-unimport-busy in ibv_unimport_pd (pd) forwarded
 * expect: error pd-unimport-busy in ibv_unimport_pd (pd) forwarded
 */
#include "../common/queues.h"

int main(void)
{
	struct ibv_context *context = open_device();
	struct ibv_pd *pd = alloc_pd(context);
	struct ibv_pd *first = import_pd(context, pd->handle), *second = import_pd(context, pd->handle);
	struct ibv_cq *cq = create_cq(context);
	struct ibv_qp_init_attr_ex attr = qp_attr_ex(cq, first);
	struct mlx5dv_qp_init_attr mlx5 = { 0 };
	struct ibv_qp *qp, *mlx5_qp;

	qp = PTR(ibv_create_qp_ex(context, &attr));
	MUST(qp);
	attr.pd = second;
	mlx5_qp = PTR(mlx5dv_create_qp(context, &attr, &mlx5));
	MUST(mlx5_qp);
	VOID(ibv_unimport_pd(first));
	MUST(INT(ibv_destroy_qp(qp)) == 0);
	VOID(ibv_unimport_pd(second));
	MUST(INT(ibv_destroy_qp(mlx5_qp)) == 0);
	MUST(INT(ibv_destroy_cq(cq)) == 0);
	MUST(INT(ibv_dealloc_pd(pd)) == 0);
	INT(ibv_close_device(context));
	return 0;
}
