/* An actor's named objects, and the way from a request to its verb. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "verbs.h"

enum { OBJECTS = 256, PAGE = 4096 };

static struct object objects[OBJECTS];

void bad_call(struct call *call, const char *why)
{
	fprintf(stderr, "truth: line %d: %s: %s\n", call->request->line, call->request->verb, why);
	_exit(2);
}

static const struct argument *argument_at(struct call *call, int argument)
{
	if (argument >= call->request->count)
		bad_call(call, "an argument is missing");
	return &call->request->args[argument];
}

static struct object *lookup(const char *text, enum kind kind)
{
	size_t length = strcspn(text, "!");
	bool also_ended = text[length];

	for (int i = 0; i < OBJECTS; i++)
		if (objects[i].kind == kind && (also_ended || !objects[i].ended) && strlen(objects[i].name) == length &&
		    !strncmp(objects[i].name, text, length))
			return &objects[i];
	return NULL;
}

/* `umem:u`: what stands before the colon, and the name behind it. */
static const char *other_kind(const char *text, enum kind *kind)
{
	static const struct {
		const char *word;
		enum kind kind;
	} kinds[] = { { "context:", CONTEXT }, { "pd:", PD }, { "mr:", MR }, { "umem:", UMEM } };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strncmp(text, kinds[i].word, strlen(kinds[i].word))) {
			*kind = kinds[i].kind;
			return text + strlen(kinds[i].word);
		}
	return text;
}

struct object *object(struct call *call, int argument, enum kind kind)
{
	static struct object none;
	const char *text = argument_at(call, argument)->text;
	struct object *found;

	if (!strcmp(text, "null")) {
		none = (struct object){ .kind = NOTHING };
		return &none;
	}
	text = other_kind(text, &kind);
	found = lookup(text, kind);
	if (!found)
		bad_call(call, "this process has no such object");
	return found;
}

int descriptor(struct call *call, int argument)
{
	const char *text = argument_at(call, argument)->text;
	struct object *found;

	if (*text == '#')
		return atoi(text + 1);
	found = lookup(text, CONTEXT);
	return found ? found->context->cmd_fd : object(call, argument, FD)->fd;
}

const char *text_option(struct call *call, const char *name)
{
	size_t length = strlen(name);

	for (int i = 0; i < call->request->count; i++)
		if (!strncmp(call->request->args[i].text, name, length) && call->request->args[i].text[length] == '=')
			return call->request->args[i].text + length + 1;
	return NULL;
}

unsigned long long option(struct call *call, const char *name, unsigned long long otherwise)
{
	const char *text = text_option(call, name);

	return text ? strtoull(text, NULL, 0) : otherwise;
}

static struct object *place(struct call *call, enum kind kind)
{
	struct object *slot = lookup(call->request->target, kind);

	for (int i = 0; !slot && i < OBJECTS; i++)
		if (objects[i].kind == NOTHING)
			slot = &objects[i];
	if (!slot || !*call->request->target)
		bad_call(call, slot ? "its result has no name" : "too many objects");
	*slot = (struct object){ .kind = kind };
	snprintf(slot->name, NAME_SIZE, "%s", call->request->target);
	return slot;
}

struct object *made(struct call *call, enum kind kind, void *pointer)
{
	struct object *slot;

	if (!pointer) {
		call->reply->result = errno ? errno : NULL_WITHOUT_ERRNO;
		return NULL;
	}
	slot = place(call, kind);
	slot->pointer = pointer;
	return slot;
}

struct object *made_fd(struct call *call, int fd)
{
	struct object *slot;

	if (fd < 0) {
		call->reply->result = errno;
		return NULL;
	}
	slot = place(call, FD);
	slot->fd = fd;
	return slot;
}

void ended(struct call *call, struct object *object, int result)
{
	call->reply->result = result;
	/* What was given in the place of another kind has not ended, even where the call cannot say that it failed. */
	if (call->request->count && !strchr(call->request->args[0].text, ':'))
		object->ended |= !result;
}

void answered(struct call *call, int result)
{
	call->reply->result = result;
}

void *memory_for(struct call *call, size_t *size)
{
	const char *at = text_option(call, "at");
	size_t mapped;
	void *start;

	*size = option(call, "size", PAGE);
	/* What is asked for may be absurd: what is mapped is not. */
	mapped = *size > 64 * PAGE ? 64 * PAGE : (*size / PAGE + 2) * PAGE;
	if (at && !strcmp(at, "null"))
		return NULL;
	if (at && !strcmp(at, "wrapping"))
		return (void *)-PAGE;
	start = mmap(NULL, mapped, at && !strcmp(at, "readonly") ? PROT_READ : PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (start == MAP_FAILED)
		bad_call(call, "no memory");
	if (at && !strcmp(at, "unmapped"))
		munmap(start, mapped);
	if (at && !strcmp(at, "forbidden"))
		mprotect(start, mapped, PROT_NONE);
	return (char *)start + option(call, "offset", 0);
}

static const struct verb *find(const struct verb *verbs, const char *name)
{
	for (; verbs->name; verbs++)
		if (!strcmp(verbs->name, name))
			return verbs;
	return NULL;
}

void perform(const struct request *request, struct reply *reply)
{
	static const struct verb *const all[] = {
		context_verbs, fd_verbs, pd_verbs, umem_verbs, queue_verbs, raw_verbs,
	};
	struct call call = { .request = request, .reply = reply };
	const struct verb *verb = NULL;

	for (size_t i = 0; !verb && i < sizeof(all) / sizeof(all[0]); i++)
		verb = find(all[i], request->verb);
	if (!verb)
		bad_call(&call, "no such verb");
	errno = 0;
	verb->perform(&call);
}
