/*
 * The kernel's truth as data: a table of cases (the file `cases`, which explains its own language), played by up to
 * four processes that make real libibverbs and libmlx5 calls, and judged by what the calls answer and by what the
 * kernel says is alive. The same program runs on the real kernel and on the emulated device.
 */
#ifndef TRUTH_H
#define TRUTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { ACTORS = 6, WORDS = 12, NAME_SIZE = 32, ARG_COUNT = 6 };

/* Results that are no errno values. */
enum { DIED = -1, SILENT = -2, NULL_WITHOUT_ERRNO = -3 };

/* script.c */
struct step {
	int line;
	int count;
	char *words[WORDS];
};

struct script_case {
	int line;
	char *title;
	char *kernel_only;
	/* Freed memory is written over and never given out again: a stale pointer stays one. */
	bool fresh_addresses;
	int count;
	struct step *steps;
};

struct script {
	int count;
	struct script_case *cases;
};

struct script script_load(const char *path);
_Noreturn void script_error(int line, const char *format, ...) __attribute__((format(printf, 2, 3)));
int errno_value(const char *name);
const char *result_name(int result);

/* What is known of an object outside its process: enough for another process to import it. */
struct value {
	uint32_t handle;
	uint32_t id; /* pdn, umem id, or lkey */
	uint64_t blob;
};

struct request {
	int line;
	char verb[NAME_SIZE];
	char target[NAME_SIZE];
	int count;
	struct argument {
		char text[NAME_SIZE];
		struct value value;
	} args[ARG_COUNT];
};

struct reply {
	int result;
	pid_t pid;
	struct value value;
};

/* actors.c: the processes A to F, seen from the one that directs them. */
void actors_start(const bool wanted[ACTORS]);
bool actor_send(int actor, const struct request *request);
struct reply actor_receive(int actor);
/* Another actor has forked it. */
void actor_is_born(int actor, pid_t pid);
void actor_kill(int actor);
void actor_quit(int actor);
bool actor_exit(int actor);
void actors_end(void);
/* The same, inside an actor. */
int letterbox_send(int to, int fd);
int letterbox_receive(void);
void actor_serve(int actor);

/* objects.c and the files of verbs: what an actor does with a request. */
void perform(const struct request *request, struct reply *reply);

/* heap.c */
void heap_never_reuses(bool never);

/* findings.c: what a guard says, where TRUTH_FINDINGS names its JSON log. */
void findings_begin(void);
/* Whether the log says by now what these `found` steps expect, and nothing else. */
bool findings_are(const struct step *steps, int count, char *why, size_t size);

/* oracle.c: the kernel's own counts and levers, whichever kernel it is. */
bool oracle_is_emulated(void);
bool oracle_live(const char *kind, long *count);
/* How many PDs and UMEMs live by the account of the guard's ledger. */
bool oracle_ledger(long *pds, long *umems);
bool oracle_all_gone(char *rest, size_t size);
bool oracle_fail_next_umem_dereg(int error);
bool oracle_device_present(bool present);

/* run.c */
/* LEAKED: failed, and no later case could start from nothing. */
enum outcome { PASSED, FAILED, SKIPPED, LEAKED };
enum outcome run_case(const struct script_case *played, char *why, size_t size);

#endif
