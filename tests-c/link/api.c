/* Every call of the control API, and what it answers. */
#include "../common/trace.h"

#include <verbsguard.h>

static int told;
static char rules[4][32];

static void on_finding(const char *rule, enum verbsguard_severity severity, const char *message, void *user)
{
	MUST(user == rules && message[0]);
	MUST(severity == VERBSGUARD_SEVERITY_WARNING || severity == VERBSGUARD_SEVERITY_NOTE);
	if (severity == VERBSGUARD_SEVERITY_WARNING && told < 4)
		snprintf(rules[told++], sizeof(rules[0]), "%s", rule);
}

int main(void)
{
	struct verbsguard_stats stats;
	struct ibv_context *context;
	struct ibv_pd *pd, *imported;
	char dump[4096] = "";
	int pipes[2];

	MUST(strchr(verbsguard_version(), '.'));
	MUST(verbsguard_get_stats(NULL, sizeof(stats)) == EINVAL);
	MUST(verbsguard_check_leaks() == 0);
	verbsguard_on_finding(on_finding, rules);

	context = open_device();
	pd = alloc_pd(context);
	imported = import_pd(context, pd->handle);
	MUST(verbsguard_name(imported, "weights") == 0);
	MUST(verbsguard_name(&stats, "nothing of ours") == ENOENT);
	MUST(verbsguard_name(NULL, "nothing") == EINVAL);

	memset(&stats, 0xff, sizeof(stats));
	MUST(verbsguard_get_stats(&stats, sizeof(stats)) == 0);
	MUST(stats.contexts == 1 && stats.pds == 2 && stats.mrs == 0 && stats.errors == 0);
	/* An older program's struct was shorter: nothing behind it is touched. */
	memset(&stats, 0xff, sizeof(stats));
	MUST(verbsguard_get_stats(&stats, sizeof(stats.errors)) == 0);
	MUST(stats.errors == 0 && stats.warnings == UINT64_MAX);

	MUST(pipe(pipes) == 0);
	MUST(verbsguard_dump(pipes[1]) == 0);
	MUST(read(pipes[0], dump, sizeof(dump) - 1) > 0);
	MUST(strstr(dump, "weights"));
	MUST(verbsguard_dump(-1) == EBADF);

	MUST(INT(ibv_dealloc_pd(imported)) == 0);
	MUST(INT(ibv_dealloc_pd(pd)) == ENOENT);
	MUST(told == 1 && strcmp(rules[0], "pd-destroyed-elsewhere") == 0);
	VOID(ibv_unimport_pd(pd));

	verbsguard_on_finding(NULL, NULL);
	pd = alloc_pd(context);
	MUST(verbsguard_ignore(pd) == 0);
	MUST(verbsguard_ignore(&stats) == ENOENT);
	MUST(INT(ibv_close_device(context)) == 0);
	MUST(told == 1);
	MUST(verbsguard_get_stats(&stats, sizeof(stats)) == 0);
	MUST(stats.contexts == 0 && stats.warnings == 1 && stats.errors == 0);
	puts("every answer was right");
	return 0;
}
