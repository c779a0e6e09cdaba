/*
 * Who says what is alive: the stand-in driver's counts in debugfs, or, where TRUTH_CONTROL names the emulated device's
 * control command, that device's. Both answer with one "kind count" a line.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "truth.h"

#define DEBUGFS "/sys/kernel/debug/mlx5_standin/"

enum { TRIES = 3000 };

static const char *emulated_control(void)
{
	return getenv("TRUTH_CONTROL");
}

bool oracle_is_emulated(void)
{
	return emulated_control();
}

static bool read_counts(char *text, size_t size)
{
	char command[512];
	FILE *from;
	size_t got;

	if (emulated_control()) {
		snprintf(command, sizeof(command), "%s stats", emulated_control());
		from = popen(command, "r");
	} else {
		from = fopen(DEBUGFS "live", "r");
	}
	if (!from)
		return false;
	got = fread(text, 1, size - 1, from);
	text[got] = 0;
	return (emulated_control() ? pclose(from) == 0 : fclose(from) == 0) && got;
}

/* `verbsguard ps --json`: one living object a line. */
bool oracle_ledger(long *pds, long *umems)
{
	const char *command = getenv("TRUTH_LEDGER");
	FILE *from = command ? popen(command, "r") : NULL;
	char *line = NULL;
	size_t size = 0;

	if (!from)
		return false;
	for (*pds = *umems = 0; getline(&line, &size, from) > 0;) {
		*pds += !!strstr(line, "\"type\":\"pd\"");
		*umems += !!strstr(line, "\"type\":\"umem\"");
	}
	free(line);
	return pclose(from) == 0;
}

static bool count_of(const char *text, const char *kind, long *count)
{
	char name[NAME_SIZE];
	int used;

	for (; sscanf(text, "%31s %ld%n", name, count, &used) == 2; text += used)
		if (!strcmp(name, kind))
			return true;
	return false;
}

/* The count as it is once *count is reached, or after a while: a last close may be under way in another process. */
bool oracle_live(const char *kind, long *count)
{
	long wanted = *count;
	char text[1024];

	for (int i = 0; i < TRIES; i++) {
		if (!read_counts(text, sizeof(text)) || !count_of(text, kind, count))
			return false;
		if (*count == wanted)
			return true;
		usleep(1000);
	}
	return true;
}

static bool list_alive(const char *text, char *rest, size_t size)
{
	char name[NAME_SIZE];
	long count;
	int used;

	for (*rest = 0; sscanf(text, "%31s %ld%n", name, &count, &used) == 2; text += used)
		if (count)
			snprintf(rest + strlen(rest), size - strlen(rest), " %s=%ld", name, count);
	return *rest;
}

/* After a case: whatever is still alive is a leak of the kernel's, named in rest. */
bool oracle_all_gone(char *rest, size_t size)
{
	char text[1024];

	for (int i = 0; i < TRIES; i++) {
		if (!read_counts(text, sizeof(text))) {
			snprintf(rest, size, " nothing that can be counted: the oracle does not answer");
			return false;
		}
		if (!list_alive(text, rest, size))
			return true;
		usleep(1000);
	}
	return false;
}

static bool write_lever(const char *path, long value)
{
	int fd = open(path, O_WRONLY);
	bool done = fd >= 0 && dprintf(fd, "%ld", value) > 0;

	if (fd >= 0)
		close(fd);
	return done;
}

static bool tell_emulated(const char *words, const char *more)
{
	char command[512];

	snprintf(command, sizeof(command), "%s %s %s", emulated_control(), words, more);
	return system(command) == 0;
}

bool oracle_fail_next_umem_dereg(int error)
{
	if (emulated_control())
		return tell_emulated("fail umem_dereg", result_name(error));
	return write_lever(DEBUGFS "fail_umem_dereg", error);
}

bool oracle_device_present(bool present)
{
	if (emulated_control())
		return tell_emulated(present ? "restore" : "remove", "");
	return write_lever(DEBUGFS "present", present);
}
