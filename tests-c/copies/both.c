/*
 * Each side does all there is to do, first the system's, then the bundled, then the system's again, and both by turns.
 *
 * expect: none
 */
#include "flow.h"

int main(void)
{
	struct side *system = open_side("./system.so", RTLD_LOCAL);
	struct side *bundled = open_side("./bundled.so", RTLD_LOCAL);

	whole_flow(system, SYSTEM_MLX5);
	whole_flow(bundled, BUNDLED_MLX5);
	whole_flow(system, SYSTEM_MLX5);

	struct ibv_context *ours = of_copy(PTR(system->open()), SYSTEM_MLX5);
	struct ibv_context *theirs = of_copy(PTR(bundled->open()), BUNDLED_MLX5);
	struct ibv_pd *our_pd = PTR(system->alloc_pd(ours));
	struct ibv_pd *their_pd = PTR(bundled->alloc_pd(theirs));
	struct ibv_mr *our_mr = PTR(system->reg_mr(our_pd, buffer, sizeof(buffer)));
	struct ibv_mr *their_mr = PTR(bundled->reg_mr(their_pd, buffer, sizeof(buffer)));

	MUST(our_mr && their_mr);
	MUST(INT(bundled->dereg_mr(their_mr)) == 0);
	MUST(INT(system->dereg_mr(our_mr)) == 0);
	MUST(INT(bundled->dealloc_pd(their_pd)) == 0);
	MUST(INT(system->dealloc_pd(our_pd)) == 0);
	MUST(INT(system->close(ours)) == 0);
	MUST(INT(bundled->close(theirs)) == 0);
	return 0;
}
