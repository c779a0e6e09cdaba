/*
 * With leaks=all, what the kernel reclaims at exit is a warning.
 *
 * options: leaks=all
 * expect: warning held-at-exit
 */
#include "../common/trace.h"

int main(void)
{
	alloc_pd(open_device());
	return 0;
}
