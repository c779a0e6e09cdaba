/*
 * The guard's own look-ups must find the real functions: were they answered with the guard's, it would call itself.
 *
 * expect: none
 */
#include "lookup.h"

int main(void)
{
	void *verbs = open_library("libibverbs.so.1", RTLD_NOW);

	errno = 0;
	MUST(!ASK(import_device_function, verbs, "ibv_import_device")(-1) && errno == EINVAL);
	return 0;
}
