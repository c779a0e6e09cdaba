/* Leaks on demand: counted by verbsguard_check_leaks, and reported once. */
#include "../common/trace.h"

#include <verbsguard.h>

int main(void)
{
	struct ibv_context *context = open_device();

	VOID(ibv_unimport_pd(alloc_pd(context)));
	MUST(verbsguard_check_leaks() == 1);
	MUST(verbsguard_check_leaks() == 1);
	VOID(ibv_unimport_pd(alloc_pd(context)));
	MUST(verbsguard_check_leaks() == 2);
	INT(ibv_close_device(context));
	puts("every answer was right");
	return 0;
}
