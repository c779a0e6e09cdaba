/*
 * An option that does not exist, and one with a bad value, are told; the rest applies.
 *
 * env: VERBSGUARD_OPTIONS=modes=strict:limit=many:exitcode=9
 * log: stderr
 * shows: modes
 * shows: many
 * shows: ERROR: verbsguard: pd-released-twice in ibv_dealloc_pd(pd)
 * exit: 9
 * parity: no, the second call reads and frees the struct again
 */
#include "../common/trace.h"

int main(void)
{
	struct ibv_context *context = open_device();
	struct ibv_pd *pd = alloc_pd(context);

	INT(ibv_dealloc_pd(pd));
	INT(ibv_dealloc_pd(pd));
	INT(ibv_close_device(context));
	return 0;
}
