/*
 * By default it is only noted.
 *
 * nearly: held-at-exit
 * expect: note held-at-exit
 */
#include "../common/trace.h"

int main(void)
{
	alloc_pd(open_device());
	return 0;
}
