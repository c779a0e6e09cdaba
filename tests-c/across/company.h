/*
 * A company of actors: as many as ACTORS_COUNT says, two without it. The first is A, and they all share the device file
 * that A opened. The runner plays a program whose first comment says `actors: 2, 3, 10` with each of these numbers.
 */
#ifndef COMPANY_H
#define COMPANY_H

#include "actors.h"

#define MOST_ACTORS 10

static struct actor company[MOST_ACTORS];
static int company_size;

/* Starts all before any of them makes a verbs call. */
static void start_company(void)
{
	static const char *const names[MOST_ACTORS] = { "A", "B", "C", "D", "E", "F", "G", "H", "I", "J" };
	const char *count = getenv("ACTORS_COUNT");

	company_size = count ? atoi(count) : 2;
	MUST(company_size >= 2 && company_size <= MOST_ACTORS);
	for (int i = 0; i < company_size; i++)
		company[i] = start(names[i]);
}

/* Each of them takes the step, in turn. */
__attribute__((unused)) static void everyone(step_function *step, long argument)
{
	for (int i = 0; i < company_size; i++)
		ask(company[i], step, argument);
}

/* The same without A. */
__attribute__((unused)) static void others(step_function *step, long argument)
{
	for (int i = 1; i < company_size; i++)
		ask(company[i], step, argument);
}

/* All of them take the step at the same time. */
__attribute__((unused)) static void at_once(step_function *step, long argument)
{
	for (int i = 0; i < company_size; i++)
		request_step(company[i], step, argument, -1);
	for (int i = 0; i < company_size; i++) {
		int fd;

		take_answer(company[i], &fd);
	}
}

/* A opens the device, and everyone else imports what it opened. */
__attribute__((unused)) static void share_with_all(void)
{
	ask(company[0], opens, 0);
	for (int i = 1; i < company_size; i++)
		hand_on(company[0], company[i]);
}

__attribute__((unused)) static struct actor the_last(void)
{
	return company[company_size - 1];
}

/* From this one on they exit, in turn. The answer of main. */
static int end_company(int from)
{
	for (int i = from; i < company_size; i++)
		end(company[i]);
	return worst_status;
}

#endif
