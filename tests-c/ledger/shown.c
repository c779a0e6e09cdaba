/*
 * A company holds PDs, and at some moments `verbsguard` (VERBSGUARD) is asked who holds what in the ledger (LEDGER). What
 * it answers is left in files for tests/across to read.
 */
#include "../across/company.h"

#include <stdarg.h>

static void shell(const char *format, ...)
{
	char command[8192];
	va_list arguments;

	va_start(arguments, format);
	MUST(vsnprintf(command, sizeof(command), format, arguments) < (int)sizeof(command));
	va_end(arguments);
	MUST(system(command) == 0);
}

static void show(const char *moment)
{
	const char *verbsguard = getenv("VERBSGUARD"), *ledger = getenv("LEDGER");

	shell("'%s' ps --ledger '%s' >%s.txt", verbsguard, ledger, moment);
	shell("'%s' ps --json --ledger '%s' >%s.json", verbsguard, ledger, moment);
	shell("'%s' report --format json '%s' >%s-report.json", verbsguard, ledger, moment);
	shell("'%s' report '%s' >%s-report.txt", verbsguard, ledger, moment);
	shell("'%s' report --format perfetto '%s' >%s-perfetto.json", verbsguard, ledger, moment);
}

static pid_t watch(void)
{
	pid_t pid = fork();

	MUST(pid >= 0);
	if (pid == 0) {
		MUST(freopen("watched.json", "w", stdout));
		execl(getenv("VERBSGUARD"), "verbsguard", "ps", "--watch", "--json", "--ledger", getenv("LEDGER"), (char *)NULL);
		_exit(99);
	}
	return pid;
}

#define MANY 20

/* At one place, more than a finding lists. */
static long allocs_many(long unused)
{
	for (int i = 0; i < MANY; i++)
		MUST(ibv_alloc_pd(context));
	return unused;
}

int main(void)
{
	actors();
	start_company();
	share_with_all();
	others(imports, ask(company[0], allocs, 0));
	show("live");

	/* The watch sees one object in its first round, and all in a later one. */
	pid_t watcher = watch();
	int status;

	sleep(1);
	everyone(allocs_many, 0);
	sleep(2);
	kill(watcher, SIGTERM);
	MUST(waitpid(watcher, &status, 0) == watcher && WIFSIGNALED(status));

	kill_actor(company[1]);
	show("killed");
	kill_actor(company[0]);
	/* Only the last one is left, and closes. */
	for (int i = 2; i < company_size - 1; i++)
		end(company[i]);
	show("left");
	ask(the_last(), unimports, 0);
	ask(the_last(), closes, 0);
	show("closed");
	return end_company(company_size - 1);
}
