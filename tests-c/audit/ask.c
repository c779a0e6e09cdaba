/* Says for each line "LIBRARY SYMBOL NODE" on its input whose function dlvsym answers with; for tests/audit.rs. */
#include "lookup.h"

int main(void)
{
	char library[64], symbol[128], node[64];

	while (scanf("%63s %127s %63s", library, symbol, node) == 3) {
		void *found = dlvsym(open_library(library, RTLD_NOW), symbol, node);

		printf("%s %s %s\n", symbol, node, is_guards(found) ? "guard" : is_real(found) ? "real" : "other");
	}
	return 0;
}
