/* Reads the table of cases. A mistake in the table ends the program: it is no result. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "truth.h"

static const char *script_path;

void script_error(int line, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fprintf(stderr, "truth: %s:%d: ", script_path, line);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	va_end(args);
	exit(2);
}

static const struct {
	const char *name;
	int value;
} errors[] = {
	{ "0", 0 },
	{ "EPERM", EPERM },
	{ "ENOENT", ENOENT },
	{ "EIO", EIO },
	{ "EBADF", EBADF },
	{ "EAGAIN", EAGAIN },
	{ "ENOMEM", ENOMEM },
	{ "EACCES", EACCES },
	{ "EFAULT", EFAULT },
	{ "EBUSY", EBUSY },
	{ "ENODEV", ENODEV },
	{ "EINVAL", EINVAL },
	{ "ENOTTY", ENOTTY },
	{ "ENOSPC", ENOSPC },
	{ "EPROTONOSUPPORT", EPROTONOSUPPORT },
	{ "EOPNOTSUPP", EOPNOTSUPP },
	{ "ENOSYS", ENOSYS },
	{ "died", DIED },
	{ "no answer", SILENT },
	{ "NULL without errno", NULL_WITHOUT_ERRNO },
};

enum { ERRORS = sizeof(errors) / sizeof(errors[0]) };

int errno_value(const char *name)
{
	for (int i = 0; i < ERRORS; i++)
		if (!strcmp(errors[i].name, name))
			return errors[i].value;
	fprintf(stderr, "truth: %s: no error '%s' is known here\n", script_path, name);
	exit(2);
}

const char *result_name(int result)
{
	for (int i = 0; i < ERRORS; i++)
		if (errors[i].value == result)
			return errors[i].name;
	return strerror(result);
}

static void *grow(void *list, int count, size_t size)
{
	list = realloc(list, (count + 1) * size);
	if (!list) {
		perror("truth");
		exit(2);
	}
	memset((char *)list + count * size, 0, size);
	return list;
}

static char *rest_of(char *text)
{
	text += strspn(text, " \t");
	return strdup(text);
}

static const struct script_case *find(const struct script *from, const char *title)
{
	for (int i = 0; i < from->count; i++)
		if (!strcmp(from->cases[i].title, title))
			return &from->cases[i];
	return NULL;
}

static void add_step(struct script_case *to, int line, char *text)
{
	struct step *step;
	char *word, *save;

	to->steps = grow(to->steps, to->count, sizeof(*step));
	step = &to->steps[to->count++];
	step->line = line;
	for (word = strtok_r(strdup(text), " \t", &save); word; word = strtok_r(NULL, " \t", &save)) {
		if (step->count == WORDS)
			script_error(line, "more than %d words", WORDS);
		step->words[step->count++] = word;
	}
}

/* `use NAME`: the steps of a setup, as if they stood here. */
static void add_setup(struct script_case *to, const struct script_case *setup)
{
	for (int i = 0; i < setup->count; i++) {
		to->steps = grow(to->steps, to->count, sizeof(*to->steps));
		to->steps[to->count++] = setup->steps[i];
	}
}

static struct script_case *open_case(struct script *in, int line, char *title)
{
	struct script_case *fresh;

	in->cases = grow(in->cases, in->count, sizeof(*in->cases));
	fresh = &in->cases[in->count++];
	fresh->line = line;
	fresh->title = rest_of(title);
	return fresh;
}

struct parser {
	struct script cases, setups;
	struct script_case *current;
};

static void parse_line(struct parser *to, int line, char *text)
{
	const struct script_case *setup;

	text[strcspn(text, "\n")] = 0;
	text += strspn(text, " \t");
	if (!*text || *text == '#')
		return;
	if (!strncmp(text, "case ", 5))
		to->current = open_case(&to->cases, line, text + 5);
	else if (!strncmp(text, "setup ", 6))
		to->current = open_case(&to->setups, line, text + 6);
	else if (!to->current)
		script_error(line, "a step outside a case");
	else if (!strncmp(text, "kernel-only ", 12))
		to->current->kernel_only = rest_of(text + 12);
	else if (!strcmp(text, "fresh-addresses"))
		to->current->fresh_addresses = true;
	else if (strncmp(text, "use ", 4))
		add_step(to->current, line, text);
	else if ((setup = find(&to->setups, text + 4)))
		add_setup(to->current, setup);
	else
		script_error(line, "no setup named '%s'", text + 4);
}

struct script script_load(const char *path)
{
	FILE *file = fopen(path, "r");
	struct parser parser = { 0 };
	size_t size = 0;
	char *text = NULL;

	script_path = path;
	if (!file) {
		fprintf(stderr, "truth: cannot read %s: %m\n", path);
		exit(2);
	}
	for (int line = 1; getline(&text, &size, file) > 0; line++)
		parse_line(&parser, line, text);
	free(text);
	fclose(file);
	return parser.cases;
}
