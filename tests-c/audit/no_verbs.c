/*
 * A program without verbs: every answer is the loader's own, and nothing of ours is said.
 *
 * expect: none
 * unaudited: passes
 */
#include "lookup.h"

int main(void)
{
	void *c = open_library("libc.so.6", RTLD_NOW);
	void *math = open_library("libm.so.6", RTLD_NOW | RTLD_DEEPBIND);

	MUST(is_in(dlsym(c, "fopen"), "libc.so.6"));
	MUST(is_in(dlvsym(c, "fopen", "GLIBC_2.2.5"), "libc.so.6"));
	MUST(is_in(dlsym(math, "exp"), "libm.so.6"));
	MUST(is_in(dlsym(RTLD_DEFAULT, "puts"), "libc.so.6"));
	MUST(!dlsym(c, "ibv_alloc_pd"));
	MUST(dlclose(math) == 0);
	puts("done");
	return 0;
}
