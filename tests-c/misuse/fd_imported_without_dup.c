/*
 * ibv_import_device takes over the descriptor it is given, so the first close takes it from the other context.
 *
 * expect: warning fd-imported-without-dup in ibv_import_device (cmd_fd) forwarded
 */
#include "../common/trace.h"

int main(void)
{
	struct ibv_context *first = open_device();
	struct ibv_context *second = PTR(ibv_import_device(first->cmd_fd));

	MUST(second);
	INT(ibv_close_device(second));
	INT(ibv_close_device(first));
	return 0;
}
