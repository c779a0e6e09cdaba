/*
 * Functions of a library that it does not export. The runner reads from its symbol table where they are (`readelf`), and
 * hands that over as arguments NAME=OFFSET after the library's path.
 */
#ifndef HIDDEN_H
#define HIDDEN_H

#include "../common/trace.h"

#include <dlfcn.h>

/* An exported symbol of the library, to tell where it was loaded. */
static char *base_of(void *library, const char *exported)
{
	Dl_info info;
	void *symbol = dlsym(library, exported);

	MUST(symbol && dladdr(symbol, &info));
	return info.dli_fbase;
}

static void *open_wheel(const char *path)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);

	if (!library)
		fprintf(stderr, "%s\n", dlerror());
	MUST(library);
	return library;
}

static void *hidden(char *base, char **arguments, const char *name)
{
	size_t length = strlen(name);

	for (; *arguments; arguments++)
		if (strncmp(*arguments, name, length) == 0 && (*arguments)[length] == '=')
			return base + strtoull(*arguments + length + 1, NULL, 16);
	fprintf(stderr, "%s is not there\n", name);
	_exit(99);
}

#endif
