/*
 * NCCL with the machine's copies, and NIXL's UCX with those that its wheel brings, in one process and by turns.
 *
 * expect: none
 */
#define main ucx_main
#include "ucx.c"
#undef main
#define main nccl_main
#include "nccl.c"
#undef main

/* UCX's library, NCCL's, and where NCCL's functions are. */
int main(int argc, char **argv)
{
	char *ucx[] = { argv[0], argv[1], NULL };

	MUST(argc > 2);
	MUST(nccl_main(argc - 1, argv + 1) == 0);
	MUST(ucx_main(2, ucx) == 0);
	return nccl_main(argc - 1, argv + 1);
}
