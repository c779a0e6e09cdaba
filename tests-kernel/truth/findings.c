/*
 * What a guard says of the step just made: the new lines of its JSON log (TRUTH_FINDINGS), held against the `found`
 * steps that follow it. A finding is in the log before the call that it is about returns, or its process has ended.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "truth.h"

enum { KEYS = 16, WORD = 48 };

/* Findings of one process that differ in nothing but their objects. */
struct group {
	char who[WORD], severity[WORD], rule[WORD], action[WORD];
	/* How many objects they are about, and how many there should be. */
	long count, wanted;
	/* The lines, for the processes that they name. */
	char *lines;
};

static off_t read_so_far;
static struct group groups[KEYS];
static int group_count;

static const char *log_path(void)
{
	return getenv("TRUTH_FINDINGS");
}

/* All that is new in the log; it may not be there yet. */
static char *news(void)
{
	int fd = open(log_path(), O_RDONLY | O_CLOEXEC);
	off_t end = fd < 0 ? read_so_far : lseek(fd, 0, SEEK_END);
	size_t size = end - read_so_far;
	char *text = calloc(1, size + 1);

	if (size && pread(fd, text, size, read_so_far) != (ssize_t)size)
		abort();
	if (fd >= 0)
		close(fd);
	read_so_far = end;
	return text;
}

/* The string that a key of the finding itself has: these keys stand before its objects. */
static void word_of(const char *line, const char *key, char word[WORD])
{
	char quoted[WORD];
	const char *at;

	snprintf(quoted, sizeof(quoted), "\"%s\":\"", key);
	at = strstr(line, quoted);
	snprintf(word, WORD, "%.*s", at ? (int)strcspn(at + strlen(quoted), "\"") : 0, at ? at + strlen(quoted) : "");
}

static struct group *group_of(const struct group *like)
{
	for (int i = 0; i < group_count; i++)
		if (!strcmp(groups[i].who, like->who) && !strcmp(groups[i].severity, like->severity) &&
		    !strcmp(groups[i].rule, like->rule) && !strcmp(groups[i].action, like->action))
			return &groups[i];
	if (group_count == KEYS)
		script_error(0, "more than %d kinds of findings at one step", KEYS);
	groups[group_count] = *like;
	groups[group_count].lines = strdup("");
	return &groups[group_count++];
}

static void take_line(const char *line)
{
	struct group like = { 0 }, *group;
	const char *count = strstr(line, "\"count\":");
	char *lines;
	long many;

	if (!strstr(line, "\"kind\":\"finding\""))
		return;
	word_of(line, "comm", like.who);
	word_of(line, "severity", like.severity);
	word_of(line, "rule", like.rule);
	word_of(line, "action", like.action);
	/* A leak finding stands for so many objects. */
	many = count ? strtol(count + strlen("\"count\":"), NULL, 10) : 1;
	group = group_of(&like);
	group->count += many;
	if (asprintf(&lines, "%s%s\n", group->lines, line) < 0)
		abort();
	free(group->lines);
	group->lines = lines;
}

/* found WHO SEVERITY RULE ACTION [xN] [of WHO]: the findings that it is about, whether there are any or not. */
static struct group *about(const struct step *step)
{
	struct group like = { 0 };

	if (step->count < 5)
		script_error(step->line, "found WHO SEVERITY RULE ACTION [xN] [of WHO]");
	snprintf(like.who, WORD, "%s", step->words[1]);
	snprintf(like.rule, WORD, "%s", step->words[3]);
	snprintf(like.severity, WORD, "%s", step->words[2]);
	snprintf(like.action, WORD, "%s", step->words[4]);
	return group_of(&like);
}

static long how_many(const struct step *step)
{
	return step->count > 5 && step->words[5][0] == 'x' ? strtol(step->words[5] + 1, NULL, 10) : 1;
}

/* Whether the findings name this process, in a sentence or as a holder of their object. */
static bool names(const struct group *group, const char *who)
{
	char text[WORD];

	snprintf(text, sizeof(text), "(%s)", who);
	if (strstr(group->lines, text))
		return true;
	snprintf(text, sizeof(text), "\"comm\":\"%s\",\"role\"", who);
	return strstr(group->lines, text);
}

static bool parties_are_named(const struct step *step, const struct group *group, char *why, size_t size)
{
	for (int i = 5; i + 1 < step->count; i++)
		if (!strcmp(step->words[i], "of") && !names(group, step->words[i + 1])) {
			snprintf(why, size, "line %d: %s does not name %s:\n#   %s", step->line, group->rule,
				 step->words[i + 1], group->lines);
			return false;
		}
	return true;
}

static bool counts_are_right(char *why, size_t size)
{
	for (int i = 0; i < group_count; i++) {
		const struct group *one = &groups[i];

		if (one->count == one->wanted)
			continue;
		snprintf(why, size, "%s %s %s %s: found %ld times, expected %ld\n#   %s", one->who, one->severity, one->rule,
			 one->action, one->count, one->wanted, one->lines);
		return false;
	}
	return true;
}

void findings_begin(void)
{
	if (log_path())
		free(news());
}

bool findings_are(const struct step *steps, int count, char *why, size_t size)
{
	char *text, *rest, *line;
	bool good;

	if (!log_path()) {
		if (count)
			script_error(steps->line, "no TRUTH_FINDINGS names a guard's log");
		return true;
	}
	rest = text = news();
	while ((line = strsep(&rest, "\n")))
		take_line(line);
	free(text);
	for (int i = 0; i < count; i++)
		about(&steps[i])->wanted += how_many(&steps[i]);
	good = counts_are_right(why, size);
	for (int i = 0; good && i < count; i++)
		good = parties_are_named(&steps[i], about(&steps[i]), why, size);
	while (group_count)
		free(groups[--group_count].lines);
	return good;
}
