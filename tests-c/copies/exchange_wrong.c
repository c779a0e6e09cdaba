/*
 * A PD that one side has destroyed is used through the other side's reference.
 *
 * expect: error pd-used-after-destroy in ibv_reg_mr (pd) forwarded
 * expect: error pd-used-after-destroy in ibv_reg_mr (pd) forwarded
 */
#include "flow.h"

static void use_after_destroy(struct side *from, struct side *to)
{
	struct ibv_context *context = PTR(from->open());
	struct ibv_context *theirs = PTR(to->import_device(dup(context->cmd_fd)));
	struct ibv_pd *pd = PTR(from->alloc_pd(context));
	struct ibv_pd *imported = PTR(to->import_pd(theirs, pd->handle));

	MUST(INT(from->dealloc_pd(pd)) == 0);
	MUST(!PTR(to->reg_mr(imported, buffer, sizeof(buffer))));
	VOID(to->unimport_pd(imported));
	MUST(INT(to->close(theirs)) == 0);
	MUST(INT(from->close(context)) == 0);
}

int main(void)
{
	struct side *system = open_side("./system.so", RTLD_LOCAL);
	struct side *bundled = open_side("./bundled.so", RTLD_LOCAL);

	use_after_destroy(system, bundled);
	use_after_destroy(bundled, system);
	return 0;
}
