/*
 * verbsguard: checks the use of PDs and UMEMs that are shared between processes over rdma-core.
 * Made from src/abi/control.rs by `make header`; do not edit.
 */

#ifndef VERBSGUARD_H
#define VERBSGUARD_H

#include <stddef.h>
#include <stdint.h>

/**
 * How grave a finding is.
 */
enum verbsguard_severity {
    /**
     * Information.
     */
    VERBSGUARD_SEVERITY_NOTE = 0,
    /**
     * Legal, but nearly always a mistake.
     */
    VERBSGUARD_SEVERITY_WARNING = 1,
    /**
     * Certainly wrong by the manual page, or unsafe.
     */
    VERBSGUARD_SEVERITY_ERROR = 2,
};

/**
 * What the guard has counted in this process. Counts, no units.
 */
struct verbsguard_stats {
    /**
     * Error findings so far, repeats included.
     */
    uint64_t errors;
    /**
     * Warnings so far, repeats included.
     */
    uint64_t warnings;
    /**
     * Notes so far, repeats included.
     */
    uint64_t notes;
    /**
     * Contexts open now.
     */
    uint64_t contexts;
    /**
     * References to protection domains that are live now.
     */
    uint64_t pds;
    /**
     * References to DEVX UMEMs that are live now.
     */
    uint64_t umems;
    /**
     * Memory regions that are live now.
     */
    uint64_t mrs;
    /**
     * Parent domains that are live now.
     */
    uint64_t parent_domains;
    /**
     * Interposed calls so far.
     */
    uint64_t calls;
    /**
     * What is live of all that hangs on PDs or lives in contexts: MRs and parent domains, and QPs, CQs, AHs and the like.
     */
    uint64_t children;
};

/**
 * Told of each finding: rule id, severity, the sentence and the caller's own pointer. The strings are valid during the
 * call only. Verbs that it calls are forwarded without a check.
 */
typedef void (*verbsguard_finding_fn)(const char *rule,
                                      enum verbsguard_severity severity,
                                      const char *message,
                                      void *user);

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * The version of the library, as "0.1.0". Never NULL; valid for good. Thread-safe.
 */
const char *verbsguard_version(void);

/**
 * Reports what is lost now: kernel objects that nobody can release any more, and destroys that failed and were never
 * followed up. Answers how many objects are lost in all. May be called any number of times; each object is reported
 * once. Thread-safe; 0 in a program that has not used verbs.
 */
uint64_t verbsguard_check_leaks(void);

/**
 * Fills `stats`, of which the caller's version has `size` bytes; bytes that this version does not know become 0.
 * 0 on success; EINVAL if `stats` is NULL or `size` is 0. Thread-safe.
 *
 * # Safety
 * `stats` points to `size` writable bytes.
 */
int verbsguard_get_stats(struct verbsguard_stats *stats,
                         size_t size);

/**
 * Writes what is alive now to `fd` as text, one object a line. 0 on success, else the errno value of the write.
 * Thread-safe.
 */
int verbsguard_dump(int fd);

/**
 * Gives a live `struct ibv_pd` or `struct mlx5dv_devx_umem` a name that reports show. 0 on success, ENOENT if it is not
 * known, EINVAL if a pointer is NULL or the name is not UTF-8. The name is copied. Thread-safe.
 *
 * # Safety
 * `name` is NULL or a NUL-terminated string; `object` is not dereferenced.
 */
int verbsguard_name(const void *object,
                    const char *name);

/**
 * Never reports this live PD or UMEM as lost. 0 on success, ENOENT if it is not known. Thread-safe.
 */
int verbsguard_ignore(const void *object);

/**
 * Calls `callback` at each finding from here on, on the thread that made the call it is about; NULL ends that.
 * `user` is handed back. Thread-safe.
 */
void verbsguard_on_finding(verbsguard_finding_fn callback,
                           void *user);

/**
 * Called at each error finding, and does nothing: a place for a breakpoint.
 */
void verbsguard_on_error(void);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* VERBSGUARD_H */
