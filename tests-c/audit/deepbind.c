/*
 * RTLD_DEEPBIND: what is opened looks into its own libraries before the global order, and so past a preloaded guard.
 *
 * expect: error null-argument in ibv_unimport_pd (pd) refused
 * expect: error null-argument in ibv_unimport_pd (pd) refused
 * expect: error null-argument in ibv_unimport_pd (pd) refused
 */
#include "lookup.h"

static void *plugin(const char *path, int flags)
{
	void *plugin = open_library(path, flags | RTLD_LOCAL | RTLD_DEEPBIND);
	unimport_pd_function *unimport;
	void *(*address)(void);

	*(void **)&unimport = dlsym(plugin, "plugin_unimport_pd");
	*(void **)&address = dlsym(plugin, "plugin_address");
	unimport(NULL);
	return address();
}

int main(void)
{
	void *verbs = open_library("libibverbs.so.1", RTLD_NOW | RTLD_DEEPBIND);

	ASK(unimport_pd_function, verbs, "ibv_unimport_pd")(NULL);
	/* A call is bound where the auditor sees it; a function's address in data is not (docs/auditor.md). */
	MUST(is_real(plugin("./plugin-lazy.so", RTLD_LAZY)));
	MUST(is_real(plugin("./plugin-now.so", RTLD_NOW)));
	return 0;
}
