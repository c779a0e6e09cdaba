/*
 * Descriptors that are no device file: refused by the real library, with its errno.
 *
 * expect: none
 */
#include "../common/trace.h"

int main(void)
{
	int pipes[2];

	MUST(pipe(pipes) == 0);
	MUST(!PTR(ibv_import_device(pipes[0])));
	MUST(!PTR(ibv_import_device(-1)));
	return 0;
}
