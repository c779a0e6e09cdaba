/*
 * A new context, perhaps at the address of the closed one, is closed too.
 *
 * nearly: context-closed-twice
 * expect: none
 */
#include "../common/trace.h"

int main(void)
{
	INT(ibv_close_device(open_device()));
	INT(ibv_close_device(open_device()));
	return 0;
}
