/*
 * The bundled side comes first: it is no stranger because the system's comes later.
 *
 * expect: none
 */
#include "flow.h"

int main(void)
{
	struct side *bundled = open_side("./bundled.so", RTLD_LOCAL);

	whole_flow(bundled, BUNDLED_MLX5);
	whole_flow(open_side("./system.so", RTLD_LOCAL), SYSTEM_MLX5);
	whole_flow(bundled, BUNDLED_MLX5);
	return 0;
}
