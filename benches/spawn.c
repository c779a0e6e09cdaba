/*
 * spawn COUNT PRELOAD[,AUDIT]... -- PROGRAM...: starts the program COUNT times with each LD_PRELOAD, and LD_AUDIT, in
 * turn ("-" for none); one line of JSON each: the median of its life in µs, and the most memory it had in kB.
 */
#define _GNU_SOURCE
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

extern char **environ;

enum { MOST = 8 };

static double now_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1e6 + now.tv_nsec / 1e3;
}

static int by_value(const void *one, const void *other)
{
    double a = *(const double *)one, b = *(const double *)other;

    return (a > b) - (a < b);
}

static double run(const char *preload, char **argv, long *kb)
{
    struct rusage usage;
    double start;
    pid_t pid;
    int status;

    const char *audit = strchr(preload, ',');
    char *first = strndup(preload, audit ? (size_t)(audit - preload) : strlen(preload));

    unsetenv("LD_PRELOAD");
    unsetenv("LD_AUDIT");
    if (strcmp(first, "-") != 0)
        setenv("LD_PRELOAD", first, 1);
    if (audit)
        setenv("LD_AUDIT", audit + 1, 1);
    free(first);
    start = now_us();
    if (posix_spawn(&pid, argv[0], NULL, NULL, argv, environ) || wait4(pid, &status, 0, &usage) < 0 || status) {
        fprintf(stderr, "%s did not run with LD_PRELOAD=%s\n", argv[0], preload);
        exit(2);
    }
    *kb = usage.ru_maxrss;
    return now_us() - start;
}

int main(int argc, char **argv)
{
    int count = argc > 1 ? atoi(argv[1]) : 0, libraries = 0;
    double *times[MOST];
    long kb[MOST];

    while (libraries + 2 < argc && strcmp(argv[libraries + 2], "--") != 0)
        libraries++;
    if (count < 1 || !libraries || libraries > MOST || libraries + 3 >= argc)
        return 2;
    for (int i = 0; i < libraries; i++)
        times[i] = calloc(count, sizeof(double));
    for (int round = 0; round < count; round++)
        for (int i = 0; i < libraries; i++)
            times[i][round] = run(argv[i + 2], argv + libraries + 3, &kb[i]);
    for (int i = 0; i < libraries; i++) {
        qsort(times[i], count, sizeof(double), by_value);
        printf("{\"us\": %.1f, \"kb\": %ld}\n", times[i][count / 2], kb[i]);
    }
    return 0;
}
