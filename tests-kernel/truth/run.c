/* Plays a case: tells the actors what to do, and compares what comes back with what the table says. */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "truth.h"

enum { KNOWN = 256 };

static struct {
	char who;
	char name[NAME_SIZE];
	struct value value;
} known[KNOWN];
static int known_count;

struct playing {
	const struct step *step;
	char *why;
	size_t size;
};

static bool differs(struct playing *play, const char *format, ...)
{
	va_list args;
	int used = snprintf(play->why, play->size, "line %d:", play->step->line);

	for (int i = 0; i < play->step->count; i++)
		used += snprintf(play->why + used, play->size - used, " %s", play->step->words[i]);
	used += snprintf(play->why + used, play->size - used, ": ");
	va_start(args, format);
	vsnprintf(play->why + used, play->size - used, format, args);
	va_end(args);
	return false;
}

static int actor_named(const char *word)
{
	return word[0] >= 'A' && word[0] < 'A' + ACTORS && !word[1] ? word[0] - 'A' : -1;
}

static int need_actor(const struct step *step, const char *word)
{
	int actor = word ? actor_named(word) : -1;

	if (actor < 0)
		script_error(step->line, "'%s' is not one of the processes A to F", word ? word : "");
	return actor;
}

static void remember(int actor, const char *name, const struct value *value)
{
	if (!*name)
		return;
	if (known_count == KNOWN)
		script_error(0, "a case with more than %d objects", KNOWN);
	known[known_count].who = 'A' + actor;
	known[known_count].value = *value;
	snprintf(known[known_count++].name, NAME_SIZE, "%s", name);
}

/* A.p: the last object that A called p. */
static const struct value *recall(const struct step *step, const char *word)
{
	for (int i = known_count - 1; i >= 0; i--)
		if (known[i].who == word[0] && !strcmp(known[i].name, word + 2))
			return &known[i].value;
	script_error(step->line, "%s has not been made", word);
}

static bool is_reference(const char *word)
{
	return word[0] >= 'A' && word[0] < 'A' + ACTORS && word[1] == '.';
}

static struct argument make_argument(const struct step *step, const char *word)
{
	struct argument argument = { 0 };

	if (strlen(word) >= NAME_SIZE)
		script_error(step->line, "'%s' is too long", word);
	snprintf(argument.text, NAME_SIZE, "%s", word);
	if (is_reference(word))
		argument.value = *recall(step, word);
	else if (word[0] == '#')
		argument.value = (struct value){ .handle = strtoul(word + 1, NULL, 0), .blob = strtoul(word + 1, NULL, 0) };
	return argument;
}

/* WHO [NAME =] VERB ARGUMENT...: the words from `at` on, up to an arrow. */
static struct request make_request(const struct step *step, int at)
{
	struct request request = { .line = step->line };

	if (at + 1 < step->count && !strcmp(step->words[at + 1], "=")) {
		snprintf(request.target, NAME_SIZE, "%s", step->words[at]);
		at += 2;
	}
	if (at >= step->count)
		script_error(step->line, "no call");
	snprintf(request.verb, NAME_SIZE, "%s", step->words[at++]);
	for (; at < step->count && strcmp(step->words[at], "->"); at++) {
		if (request.count == ARG_COUNT)
			script_error(step->line, "more than %d arguments", ARG_COUNT);
		request.args[request.count++] = make_argument(step, step->words[at]);
	}
	return request;
}

static int expected_result(const struct step *step)
{
	if (step->count < 2 || strcmp(step->words[step->count - 2], "->"))
		return 0;
	return errno_value(step->words[step->count - 1]);
}

static bool judge(struct playing *play, int got)
{
	if (got == expected_result(play->step))
		return true;
	return differs(play, "got %s", result_name(got));
}

static bool call(struct playing *play, int actor)
{
	struct request request = make_request(play->step, 1);
	struct reply reply;

	if (!actor_send(actor, &request))
		return differs(play, "%c is not there any more", 'A' + actor);
	reply = actor_receive(actor);
	if (!reply.result)
		remember(actor, request.target, &reply.value);
	if (!reply.result && !strcmp(request.verb, "fork"))
		actor_is_born(need_actor(play->step, request.args[0].text), reply.value.id);
	return judge(play, reply.result);
}

static bool play_start(struct playing *play)
{
	struct request request = make_request(play->step, 2);

	return actor_send(need_actor(play->step, play->step->words[1]), &request) || differs(play, "it is gone");
}

static bool play_join(struct playing *play)
{
	return judge(play, actor_receive(need_actor(play->step, play->step->words[1])).result);
}

/* one_of A B -> ENOENT: of two calls under way, whichever, one has succeeded and the other has this answer. */
static bool play_one_of(struct playing *play)
{
	int one = actor_receive(need_actor(play->step, play->step->words[1])).result;
	int other = actor_receive(need_actor(play->step, play->step->words[2])).result;

	if (one && other)
		return differs(play, "got %s and %s", result_name(one), result_name(other));
	return judge(play, one ? one : other);
}

static bool play_kill(struct playing *play)
{
	actor_kill(need_actor(play->step, play->step->words[1]));
	return true;
}

static bool play_quit(struct playing *play)
{
	actor_quit(need_actor(play->step, play->step->words[1]));
	return true;
}

static bool play_exit(struct playing *play)
{
	return actor_exit(need_actor(play->step, play->step->words[1])) || differs(play, "it does not end");
}

/* ledger pd=1 umem=0: what the guards have on record. */
static bool play_ledger(struct playing *play)
{
	long pds, umems, wanted_pds, wanted_umems;

	if (play->step->count != 3 || sscanf(play->step->words[1], "pd=%ld", &wanted_pds) != 1 ||
	    sscanf(play->step->words[2], "umem=%ld", &wanted_umems) != 1)
		script_error(play->step->line, "ledger pd=N umem=N");
	if (!oracle_ledger(&pds, &umems))
		return differs(play, "no ledger can be read");
	return (pds == wanted_pds && umems == wanted_umems) || differs(play, "pd=%ld umem=%ld", pds, umems);
}

/* live pd=1 mr=0: what the kernel counts now. */
static bool play_live(struct playing *play)
{
	for (int i = 1; i < play->step->count; i++) {
		char *sign = strchr(play->step->words[i], '=');
		char kind[NAME_SIZE];
		long wanted, count;

		if (!sign)
			script_error(play->step->line, "live takes kind=count");
		snprintf(kind, sizeof(kind), "%.*s", (int)(sign - play->step->words[i]), play->step->words[i]);
		count = wanted = strtol(sign + 1, NULL, 0);
		if (!oracle_live(kind, &count))
			return differs(play, "the oracle cannot count %s", kind);
		if (count != wanted)
			return differs(play, "%s=%ld", kind, count);
	}
	return true;
}

/* A.p.handle, A.p.id or a number. */
static uint32_t number_of(const struct step *step, const char *word)
{
	char name[NAME_SIZE];
	const char *dot = strrchr(word, '.');

	if (!is_reference(word))
		return strtoul(word, NULL, 0);
	snprintf(name, sizeof(name), "%.*s", (int)(dot - word), word);
	return !strcmp(dot, ".id") ? recall(step, name)->id : recall(step, name)->handle;
}

static bool compare(struct playing *play, bool same)
{
	const struct step *step = play->step;
	uint32_t one, other;

	if (step->count != 3)
		script_error(step->line, "takes two values");
	one = number_of(step, step->words[1]);
	other = number_of(step, step->words[2]);
	return (one == other) == same || differs(play, "%u and %u", one, other);
}

static bool play_same(struct playing *play)
{
	return compare(play, true);
}

static bool play_differ(struct playing *play)
{
	return compare(play, false);
}

static bool play_fail_next_dereg(struct playing *play)
{
	return oracle_fail_next_umem_dereg(errno_value(play->step->words[1])) || differs(play, "the lever does not move");
}

static bool play_remove(struct playing *play)
{
	return oracle_device_present(false) || differs(play, "the device stays");
}

static const struct {
	const char *name;
	bool (*play)(struct playing *play);
} statements[] = {
	{ "start", play_start },
	{ "join", play_join },
	{ "one_of", play_one_of },
	{ "kill", play_kill },
	{ "quit", play_quit },
	{ "exit", play_exit },
	{ "live", play_live },
	{ "ledger", play_ledger },
	{ "same", play_same },
	{ "differ", play_differ },
	{ "fail_next_umem_dereg", play_fail_next_dereg },
	{ "remove_device", play_remove },
};

static bool play_step(struct playing *play)
{
	int actor = actor_named(play->step->words[0]);

	if (actor >= 0)
		return call(play, actor);
	for (size_t i = 0; i < sizeof(statements) / sizeof(statements[0]); i++)
		if (!strcmp(statements[i].name, play->step->words[0]))
			return statements[i].play(play);
	script_error(play->step->line, "'%s' is neither a process nor a statement", play->step->words[0]);
}

/* The `found` steps that follow say what a guard finds at this one. */
static bool findings_fit(struct playing *play, const struct step *steps, int count)
{
	char why[4096];

	return findings_are(steps, count, why, sizeof(why)) || differs(play, "%s", why);
}

static bool play_all(struct playing *play, const struct script_case *played)
{
	findings_begin();
	for (int i = 0, next; i < played->count; i = next) {
		for (next = i + 1; next < played->count && !strcmp(played->steps[next].words[0], "found");)
			next++;
		play->step = &played->steps[i];
		if (!play_step(play) || !findings_fit(play, &played->steps[i + 1], next - i - 1))
			return false;
	}
	return true;
}

/* Processes are started as they are, except those that another one forks: `A fork B`. */
static void find_actors(const struct script_case *played, bool wanted[ACTORS])
{
	for (int i = 0; i < played->count; i++) {
		const struct step *step = &played->steps[i];
		int actor = actor_named(step->words[0]);

		/* kill A, exit A, quit A */
		if (actor < 0 && step->count == 2)
			actor = actor_named(step->words[1]);
		if (actor >= 0)
			wanted[actor] = true;
	}
	for (int i = 0; i < played->count; i++)
		if (played->steps[i].count > 2 && !strcmp(played->steps[i].words[1], "fork"))
			wanted[need_actor(&played->steps[i], played->steps[i].words[2])] = false;
}

/* The next case finds the device in its place and no failure waiting. */
static bool put_back(const struct script_case *played)
{
	bool done = true;

	for (int i = 0; i < played->count; i++) {
		if (!strcmp(played->steps[i].words[0], "remove_device"))
			done &= oracle_device_present(true);
		if (!strcmp(played->steps[i].words[0], "fail_next_umem_dereg"))
			done &= oracle_fail_next_umem_dereg(0);
	}
	return done;
}

enum outcome run_case(const struct script_case *played, char *why, size_t size)
{
	struct playing play = { .why = why, .size = size };
	bool wanted[ACTORS] = { false };
	bool good, gone;
	char rest[256];

	if (played->kernel_only && oracle_is_emulated()) {
		snprintf(why, size, "%s", played->kernel_only);
		return SKIPPED;
	}
	known_count = 0;
	find_actors(played, wanted);
	heap_never_reuses(played->fresh_addresses);
	actors_start(wanted);
	good = play_all(&play, played);
	actors_end();
	good = good && findings_fit(&play, NULL, 0);
	gone = oracle_all_gone(rest, sizeof(rest));
	if (good && !gone)
		snprintf(why, size, "all processes are gone, but the kernel still counts%s", rest);
	if (!put_back(played)) {
		snprintf(why, size, "the device cannot be put back as it was");
		return LEAKED;
	}
	if (!gone)
		return LEAKED;
	return good ? PASSED : FAILED;
}
