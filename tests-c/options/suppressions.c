/*
 * A finding that the user's file suppresses, in one function, and the same in another.
 *
 * options: suppressions=@DIR@/suppressions.supp
 * expect: error pd-released-twice in ibv_unimport_pd (pd)
 * parity: no, the second call frees the struct again
 */
#include "../common/trace.h"

__attribute__((noinline)) static void known_trouble(struct ibv_pd *pd)
{
	VOID(ibv_unimport_pd(pd));
}

int main(void)
{
	struct ibv_context *context = open_device();
	struct ibv_pd *pd = alloc_pd(context);
	struct ibv_pd *imported = import_pd(context, pd->handle);

	VOID(ibv_unimport_pd(imported));
	known_trouble(imported);
	VOID(ibv_unimport_pd(imported));
	INT(ibv_dealloc_pd(pd));
	INT(ibv_close_device(context));
	return 0;
}
