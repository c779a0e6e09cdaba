/*
 * Whether freed memory comes back. A case with `fresh-addresses` uses pointers to what was freed, and the guard can
 * only tell such a pointer from a new object's where that object is elsewhere. So there free() writes the memory over,
 * as an allocator does at least in part, and keeps it.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "truth.h"

static bool keeps;
static void (*real_free)(void *);

__attribute__((constructor)) static void find_real_free(void)
{
	*(void **)&real_free = dlsym(RTLD_NEXT, "free");
}

void free(void *memory)
{
	if (!memory)
		return;
	if (!keeps && real_free)
		real_free(memory);
	else
		memset(memory, 0xdd, malloc_usable_size(memory));
}

void heap_never_reuses(bool never)
{
	keeps = never;
}
