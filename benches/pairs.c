/*
 * pairs OP [options]: how long a pair of calls takes, as one line of JSON. The same program runs plain, behind the bare
 * forwarder, guarded, and under other tools; see scripts/bench.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <getopt.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "ops.h"
#include "sharers.h"

static struct options {
    const struct op *op;
    unsigned int threads, depth, share;
    unsigned long live, batch, pairs;
    double seconds;
    unsigned int work;
    int random, wander, busy, report, hold, sleeper, cmd_fd;
} options = {.threads = 1, .share = 1, .batch = 10000, .seconds = 0.25, .cmd_fd = -1};

struct job {
    struct env env;
    void **slots;
    double ns, rare, rarest;
    unsigned long done;
    pthread_t thread;
};

static pthread_barrier_t start_line;

/* Single pairs are timed by what they cost this thread: with that, whoever takes the processor in between does not count. */
static double now_ns(void)
{
    struct timespec now;

    clock_gettime(options.batch == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1e9 + now.tv_nsec;
}

/* What else a program does between two pairs: sums up so many buffers of 64 bytes. */
static void work(struct job *job)
{
    static __thread volatile unsigned char sum;

    for (unsigned int i = 0; i < options.work; i++)
        for (size_t at = 0; at < sizeof(job->env.buffer); at++)
            sum += job->env.buffer[at];
}

static void same_reference(struct job *job, unsigned long pairs)
{
    while (pairs--) {
        options.op->end(options.op->make(&job->env));
        work(job);
    }
}

/* One pair, from a place on the stack where none of the latest pairs was called. */
static __attribute__((noinline)) void pair_elsewhere(struct job *job, unsigned long where)
{
    volatile char *room = __builtin_alloca(16 + 32 * (where % 256));

    *room = 0;
    options.op->end(options.op->make(&job->env));
}

static void new_stack_each_time(struct job *job, unsigned long pairs)
{
    while (pairs--)
        pair_elsewhere(job, pairs);
}

/* Ends one of the live references, picked at random, and makes another in its place. */
static void random_reference(struct job *job, unsigned long pairs)
{
    static __thread uint64_t state = 88172645463325252u;

    while (pairs--) {
        state ^= state << 13, state ^= state >> 7, state ^= state << 17;
        void **slot = &job->slots[state % options.live];
        options.op->end(*slot);
        *slot = options.op->make(&job->env);
    }
}

static int by_value(const void *one, const void *other)
{
    float a = *(const float *)one, b = *(const float *)other;

    return (a > b) - (a < b);
}

/* Median over the batches for one thread. Several threads on few cores take turns: there all the time counts. */
static void measure(struct job *job)
{
    size_t most = options.pairs ? options.pairs / options.batch + 1 : 1 << 14, count = 0;
    float *batches = calloc(most, sizeof(*batches));
    double start = now_ns(), before = start, end = start + options.seconds * 1e9;

    do {
        (options.random ? random_reference : options.wander ? new_stack_each_time : same_reference)(job, options.batch);
        double now = now_ns();
        batches[count++ % most] = (now - before) / options.batch;
        before = now;
        job->done += options.batch;
    } while (options.pairs ? job->done < options.pairs : before < end);
    if (count > most)
        count = most;
    qsort(batches, count, sizeof(*batches), by_value);
    job->ns = options.threads == 1 ? batches[count / 2] : (before - start) / job->done;
    /* A log is rewritten once in about 2,400 pairs. The very longest are the scheduler's. */
    job->rare = batches[count - 1 - count / 4000];
    job->rarest = batches[count - 1 - count / 100000];
    free(batches);
}

static __attribute__((noinline)) void descend(unsigned int depth, struct job *job)
{
    if (depth) {
        descend(depth - 1, job);
    } else {
        same_reference(job, options.batch < 100 ? 1 : 100);
        pthread_barrier_wait(&start_line);
        measure(job);
    }
    __asm__ volatile("" : : : "memory");
}

static void *run(void *job)
{
    descend(options.depth, job);
    return NULL;
}

static long resident_kb(void)
{
    long kb = 0;
    char line[128];
    FILE *status = fopen("/proc/self/status", "r");

    while (status && fgets(line, sizeof(line), status))
        if (sscanf(line, "VmRSS: %ld kB", &kb) == 1)
            break;
    if (status)
        fclose(status);
    return kb;
}

/* Makes the live references; how many bytes each takes. */
static double fill(struct job *job)
{
    job->slots = calloc(options.live, sizeof(*job->slots));
    memset(job->slots, 1, options.live * sizeof(*job->slots));
    long before = resident_kb();
    for (unsigned long i = 0; i < options.live; i++)
        job->slots[i] = options.op->make(&job->env);
    return options.live ? (resident_kb() - before) * 1024.0 / options.live : 0;
}

/* How long the leak report of `live` PD references from a hundred places takes: it comes with the close. */
static void report_leaks(struct job *job)
{
    for (unsigned long i = 0; i < options.live; i++)
        if (!import_pd_at(i, &job->env))
            die("ibv_import_pd");
    double start = now_ns();
    ibv_close_device(job->env.importer);
    printf("{\"report_s\": %.4f}\n", (now_ns() - start) / 1e9);
}

static const char *module_of(void *function)
{
    Dl_info info;
    const char *name;

    if (!function || !dladdr(function, &info))
        return "?";
    name = strrchr(info.dli_fname, '/');
    return name ? name + 1 : info.dli_fname;
}

static void parse(int argc, char **argv)
{
    static const struct option known[] = {
        {"threads", 1, NULL, 't'}, {"depth", 1, NULL, 'd'}, {"live", 1, NULL, 'l'},   {"random", 0, NULL, 'r'},
        {"share", 1, NULL, 's'},   {"busy", 0, NULL, 'b'},  {"batch", 1, NULL, 'n'},  {"pairs", 1, NULL, 'p'},
        {"seconds", 1, NULL, 'S'}, {"fd", 1, NULL, 'f'},    {"report", 0, NULL, 'R'}, {"hold", 0, NULL, 'h'},
        {"work", 1, NULL, 'w'},    {"sleeper", 0, NULL, 'z'},  {"wander", 0, NULL, 'W'}, {NULL, 0, NULL, 0},
    };
    int c;

    while ((c = getopt_long(argc, argv, "", known, NULL)) != -1) {
        switch (c) {
        case 't': options.threads = atoi(optarg); break;
        case 'd': options.depth = atoi(optarg); break;
        case 'l': options.live = atol(optarg); break;
        case 'r': options.random = 1; break;
        case 's': options.share = atoi(optarg); break;
        case 'b': options.busy = 1; break;
        case 'n': options.batch = atol(optarg); break;
        case 'p': options.pairs = atol(optarg); break;
        case 'S': options.seconds = atof(optarg); break;
        case 'f': options.cmd_fd = atoi(optarg); break;
        case 'R': options.report = 1; break;
        case 'h': options.hold = 1; break;
        case 'z': options.sleeper = 1; break;
        case 'W': options.wander = 1; break;
        case 'w': options.work = atoi(optarg); break;
        default: exit(2);
        }
    }
    if (optind != argc - 1) {
        fprintf(stderr, "usage: pairs OP [options]\n");
        exit(2);
    }
    options.op = op_named(argv[optind]);
}

static void *sleep_on(void *unused)
{
    pause();
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t sleeper;

    parse(argc, argv);
    if (options.sleeper)
        pthread_create(&sleeper, NULL, sleep_on, NULL);
    struct job *jobs = calloc(options.threads, sizeof(*jobs));
    struct ibv_context *context = open_context(options.cmd_fd), *importer = open_context(dup(context->cmd_fd));
    double ns = 0, per_live;

    for (unsigned int i = 0; i < options.threads; i++)
        own_objects(&jobs[i].env, context, importer);
    if (options.cmd_fd >= 0)
        sharer(options.op, &jobs[0].env, options.busy);
    if (options.report) {
        report_leaks(&jobs[0]);
        return 0;
    }
    per_live = fill(&jobs[0]);
    start_sharers(options.share - 1, context->cmd_fd, options.op->name, options.busy);
    pthread_barrier_init(&start_line, NULL, options.threads);
    if (options.threads == 1)
        run(&jobs[0]);
    else
        for (unsigned int i = 0; i < options.threads; i++)
            pthread_create(&jobs[i].thread, NULL, run, &jobs[i]);
    for (unsigned int i = 0; i < options.threads; i++) {
        if (options.threads > 1)
            pthread_join(jobs[i].thread, NULL);
        /* What all of them together take for a pair. */
        ns += 1 / jobs[i].ns;
    }
    stop_sharers();
    printf("{\"ns\": %.1f, \"rare\": %.0f, \"rarest\": %.0f, \"bytes_per_live\": %.1f, \"post_send\": \"%s\", "
           "\"poll_cq\": \"%s\", \"req_notify_cq\": \"%s\"}\n",
           1 / ns, jobs[0].rare, jobs[0].rarest, per_live, module_of((void *)context->ops.post_send), module_of((void *)context->ops.poll_cq),
           module_of((void *)context->ops.req_notify_cq));
    if (options.hold) {
        fflush(stdout);
        while (getchar() != EOF)
            ;
    }
    /* What is live goes with the process. */
    return 0;
}
