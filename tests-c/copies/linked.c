/*
 * The program is linked with the system's, and opens a plugin that brings copies: the loader binds the plugin's calls to
 * the system's, and so do we.
 *
 * links: mlx5 ibverbs
 * expect: none
 */
#include "flow.h"

int main(void)
{
	struct side *bundled = open_side("./bundled.so", RTLD_LOCAL);
	struct ibv_context *context = of_copy(open_device(), SYSTEM_MLX5);
	struct ibv_pd *pd = alloc_pd(context);

	whole_flow(bundled, SYSTEM_MLX5);
	MUST(INT(ibv_dealloc_pd(pd)) == 0);
	MUST(INT(ibv_close_device(context)) == 0);
	return 0;
}
