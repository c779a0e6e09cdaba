/*
 * Creating calls fail for another reason: the device is there.
 *
 * nearly: device-gone
 * expect: none
 * expect: no note device-gone
 * lab: no, only the emulated device fails a request at will
 */
#include "../common/trace.h"
#include "../common/emu.h"

int main(void)
{
	struct ibv_context *context = open_device();

	emu_control("{\"op\":\"fail\",\"kind\":\"alloc_pd\",\"errno\":12}");
	PTR(ibv_alloc_pd(context));
	INT(ibv_dealloc_pd(alloc_pd(context)));
	INT(ibv_close_device(context));
	return 0;
}
