/* truth CASES [WORD]: plays all cases of the table, or those whose title holds WORD. */
#include <stdio.h>
#include <string.h>

#include "truth.h"

static void print_result(int number, const struct script_case *played, enum outcome outcome, const char *why)
{
	bool failed = outcome == FAILED || outcome == LEAKED;

	printf("%sok %d - %s%s%s\n", failed ? "not " : "", number, played->title, outcome == SKIPPED ? " # SKIP " : "",
	       outcome == SKIPPED ? why : "");
	if (failed)
		printf("# %s\n", why);
	if (outcome == LEAKED)
		printf("Bail out! No later case could begin with nothing alive\n");
	fflush(stdout);
}

int main(int argc, char **argv)
{
	int results[LEAKED + 1] = { 0 }, number = 0;
	struct script script;
	char why[8192];

	if (argc < 2 || argc > 3) {
		fprintf(stderr, "usage: truth CASES [WORD]\n");
		return 2;
	}
	script = script_load(argv[1]);
	for (int i = 0; i < script.count && !results[LEAKED]; i++) {
		const struct script_case *played = &script.cases[i];
		enum outcome outcome;

		if (argc == 3 && !strstr(played->title, argv[2]))
			continue;
		outcome = run_case(played, why, sizeof(why));
		results[outcome]++;
		print_result(++number, played, outcome, why);
	}
	printf("1..%d\n%d passed, %d failed, %d skipped\n", number, results[PASSED], results[FAILED] + results[LEAKED],
	       results[SKIPPED]);
	/* A word that matches nothing, or an empty table, has shown nothing. */
	return results[FAILED] || results[LEAKED] || !results[PASSED];
}
