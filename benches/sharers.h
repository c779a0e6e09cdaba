/* Other processes that hold the same device file. */
#ifndef SHARERS_H
#define SHARERS_H

#include "ops.h"

/* Starts `count` processes that import the device file, and waits until they hold it. Busy ones work until stopped. */
void start_sharers(unsigned int count, int cmd_fd, const char *op, int busy);
void stop_sharers(void);

/* What such a process does: holds references, or works, until its parent stops it. */
_Noreturn void sharer(const struct op *op, struct env *env, int busy);

#endif
