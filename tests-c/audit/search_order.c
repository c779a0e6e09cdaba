/*
 * A wrapper of the program's own that asks for the next one (RTLD_NEXT), and a search in the global order: with
 * libraries that are opened RTLD_GLOBAL, each ends at the guard.
 *
 * expect: error null-argument in ibv_unimport_pd (pd) refused
 * expect: error null-argument in ibv_unimport_pd (pd) refused
 * unaudited: passes
 */
#include "lookup.h"

static unimport_pd_function *next;

__attribute__((visibility("default"))) void ibv_unimport_pd(struct ibv_pd *pd)
{
	next(pd);
}

int main(void)
{
	open_library("libibverbs.so.1", RTLD_NOW | RTLD_GLOBAL);
	next = ASK(unimport_pd_function, RTLD_NEXT, "ibv_unimport_pd");
	ibv_unimport_pd(NULL);
	ASK(dealloc_pd_function, RTLD_DEFAULT, "ibv_dealloc_pd");
	next = ASK_AT(unimport_pd_function, RTLD_NEXT, "ibv_unimport_pd", "IBVERBS_1.10");
	ibv_unimport_pd(NULL);
	return 0;
}
