#define _GNU_SOURCE
#include "sharers.h"

#include <poll.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* A sharer writes one byte to its standard output when it is ready, and ends when its standard input does. */
static int ready[2], going[2];
static unsigned int started;

static void start_sharer(const char *fd, const char *op, int busy)
{
    char *argv[] = {"pairs", "--fd", (char *)fd, (char *)op, busy ? "--busy" : NULL, NULL};
    posix_spawn_file_actions_t actions;
    pid_t pid;

    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, going[0], 0);
    posix_spawn_file_actions_adddup2(&actions, ready[1], 1);
    posix_spawn_file_actions_addclose(&actions, going[1]);
    if (posix_spawn(&pid, "/proc/self/exe", &actions, NULL, argv, environ))
        die("posix_spawn");
    posix_spawn_file_actions_destroy(&actions);
}

void start_sharers(unsigned int count, int cmd_fd, const char *op, int busy)
{
    char fd[16], byte;

    if (!count)
        return;
    if (pipe(ready) || pipe(going))
        die("pipe");
    /* Not closed at exec. */
    snprintf(fd, sizeof(fd), "%d", dup(cmd_fd));
    for (; started < count; started++)
        start_sharer(fd, op, busy);
    for (unsigned int i = 0; i < count; i++)
        if (read(ready[0], &byte, 1) != 1)
            die("a sharer did not come up");
}

void stop_sharers(void)
{
    if (!started)
        return;
    close(going[1]);
    while (started && wait(NULL) > 0)
        started--;
}

_Noreturn void sharer(const struct op *op, struct env *env, int busy)
{
    struct pollfd stop = {.fd = 0, .events = POLLIN};
    void *held = op->make(env);

    if (!held || write(1, "r", 1) != 1)
        die("sharer");
    do {
        for (int i = 0; busy && i < 10000; i++)
            op->end(op->make(env));
    } while (!poll(&stop, 1, busy ? 0 : -1));
    op->end(held);
    release_objects(env);
    ibv_close_device(env->context);
    exit(0);
}
