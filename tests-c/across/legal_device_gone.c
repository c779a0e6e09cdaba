/*
 * Legal 14: the device goes. What creates fails with EIO, the first destroy succeeds, the others answer ENOENT;
 * everyone cleans up as well as it can.
 *
 * actors: 2, 3, 10
 * expect: none
 */
#include "company.h"
#include "../common/emu.h"

static long pulls_the_device_out(long unused)
{
	remove_device();
	return unused;
}

static long fails(long unused)
{
	MUST(!PTR(ibv_alloc_pd(context)) && errno == EIO);
	MUST(!PTR(ibv_import_pd(context, pd->handle)) && errno == EIO);
	return unused;
}

int main(void)
{
	actors();
	start_company();
	share_with_all();
	others(imports, ask(company[0], allocs, 0));
	ask(company[0], pulls_the_device_out, 0);
	everyone(fails, 0);
	MUST(ask(the_last(), deallocs, 0) == 0);
	for (int i = 0; i < company_size - 1; i++) {
		MUST(ask(company[i], deallocs, 0) == ENOENT);
		ask(company[i], unimports, 0);
	}
	everyone(closes, 0);
	return end_company(0);
}
