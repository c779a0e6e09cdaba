/*
 * A tells B its PD's number in the hardware instead of the handle.
 *
 * expect: warning pd-handle-is-pdn in ibv_import_pd (pd_handle) forwarded by B of A at allocs
 */
#include "actors.h"

static long tells_pdn(long unused)
{
	struct mlx5dv_pd out = { 0 };
	struct mlx5dv_obj object = { .pd = { .in = pd, .out = &out } };

	(void)unused;
	MUST(mlx5dv_init_obj(&object, MLX5DV_OBJ_PD) == 0);
	return out.pdn;
}

int main(void)
{
	actors();

	struct actor A = start("A"), B = start("B");

	shared(A, B);
	ask(A, allocs, 0);
	ask(B, fails_to_import, ask(A, tells_pdn, 0));
	ask(A, deallocs, 0);
	end(B);
	end(A);
	return worst_status;
}
