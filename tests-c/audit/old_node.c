/*
 * The variants of IBVERBS_1.0 take other structs: they are other functions, and stay the real library's.
 *
 * expect: none
 */
#include "lookup.h"

int main(void)
{
	static const char *const both[] = { "ibv_open_device", "ibv_close_device", "ibv_alloc_pd", "ibv_dealloc_pd",
					    "ibv_reg_mr", "ibv_dereg_mr" };
	void *verbs = open_library("libibverbs.so.1", RTLD_NOW);
	size_t i;

	for (i = 0; i < sizeof(both) / sizeof(both[0]); i++) {
		MUST(is_real(dlvsym(verbs, both[i], "IBVERBS_1.0")));
		guards(dlvsym(verbs, both[i], "IBVERBS_1.1"));
		guards(dlsym(verbs, both[i]));
	}
	return 0;
}
