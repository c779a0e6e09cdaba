/*
 * A memory window whose end failed still counts.
 *
 * expect: warning pd-unimport-busy in ibv_unimport_pd (pd) forwarded
 * lab: no, only the emulated device fails a request at will
 */
#include "../common/queues.h"
#include "../common/emu.h"

int main(void)
{
	struct ibv_context *context = open_device();
	struct ibv_pd *pd = alloc_pd(context), *imported = import_pd(context, pd->handle);
	struct ibv_mw *mw = alloc_mw(imported);

	emu_control("{\"op\":\"fail\",\"kind\":\"dealloc_mw\",\"errno\":16}");
	MUST(INT(ibv_dealloc_mw(mw)) == EBUSY);
	VOID(ibv_unimport_pd(imported));
	MUST(INT(ibv_dealloc_mw(mw)) == 0);
	MUST(INT(ibv_dealloc_pd(pd)) == 0);
	INT(ibv_close_device(context));
	return 0;
}
