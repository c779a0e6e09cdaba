/*
 * What the programs about the emulated device's objects share: each makes them through real libmlx5, and holds what
 * calls answer against what the device says is alive. A program that comes to its end says "good".
 */
#ifndef OBJECTS_H
#define OBJECTS_H

#define _GNU_SOURCE
#include <errno.h>
#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define NEED(what) ((what) ? (void)0 : give_up(#what, __FILE__, __LINE__))

/* A call that makes something must fail so; one that ends or changes something must answer so. */
#define REFUSED(error, call) NEED((errno = 0, !(call)) && errno == (error))
#define ANSWERS(error, call) NEED((errno = (call)) == (error))

/* The device counts so many of this kind. */
#define LIVE(kind, wanted) need_live(kind, wanted, __FILE__, __LINE__)

__attribute__((unused)) static void give_up(const char *what, const char *file, int line)
{
	fprintf(stderr, "%s:%d: %s: %s\n", file, line, what, strerror(errno));
	exit(1);
}

/* What `verbsguard emu-control` would be answered. */
static const char *ask(const char *request)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	static char answer[8192];
	ssize_t length;

	NEED(getenv("VERBSGUARD_EMU"));
	snprintf(address.sun_path, sizeof(address.sun_path), "%s/control", getenv("VERBSGUARD_EMU"));
	NEED(fd >= 0 && !connect(fd, (struct sockaddr *)&address, sizeof(address)));
	NEED(send(fd, request, strlen(request), 0) == (ssize_t)strlen(request));
	NEED((length = recv(fd, answer, sizeof(answer) - 1, 0)) > 0);
	close(fd);
	answer[length] = 0;
	NEED(!strstr(answer, "error"));
	return answer;
}

__attribute__((unused)) static void need_live(const char *kind, int wanted, const char *file, int line)
{
	char name[64];
	const char *at;

	snprintf(name, sizeof(name), "\"%s\":", kind);
	at = strstr(strstr(ask("{\"op\":\"stats\"}"), "\"live\":"), name);
	if (at && atoi(at + strlen(name)) == wanted)
		return;
	fprintf(stderr, "%s:%d: %s %s instead of %d\n", file, line, kind, at ? at + strlen(name) : "is not counted", wanted);
	exit(1);
}

/* The next request of this kind fails so. */
__attribute__((unused)) static void fail_next(const char *kind, int error)
{
	char request[128];

	snprintf(request, sizeof(request), "{\"op\":\"fail\",\"kind\":\"%s\",\"errno\":%d}", kind, error);
	ask(request);
}

static struct ibv_context *open_context(void)
{
	struct mlx5dv_context_attr attr = { .flags = MLX5DV_CONTEXT_FLAGS_DEVX };
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context;

	NEED(list && list[0]);
	NEED(context = mlx5dv_open_device(list[0], &attr));
	ibv_free_device_list(list);
	return context;
}

/* At a context's end nothing must be left of it. */
__attribute__((unused)) static void close_context(struct ibv_context *context)
{
	char *answer, *at;

	ANSWERS(0, ibv_close_device(context));
	for (int i = 0; i < 2000; i++, usleep(1000)) {
		answer = strstr(ask("{\"op\":\"stats\"}"), "\"live\":");
		at = strchr(answer, '}');
		*at = 0;
		for (at = answer; *at && (*at < '1' || *at > '9'); at++)
			;
		if (!*at)
			return;
	}
	fprintf(stderr, "left: %s\n", answer);
	exit(1);
}

#endif
