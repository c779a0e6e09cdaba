// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The oracle and the levers, in debugfs under mlx5_standin/:
 *   live              what is alive, one "kind count" a line
 *   fail_umem_dereg   write an errno value: the next dereg of a UMEM that a program asks for fails with it
 *   present           write 0 to pull the device out, 1 to put it back
 */
#include <linux/debugfs.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/seq_file.h>

#include "standin.h"

static const char *const kind_names[KINDS] = {
	[CONTEXT] = "context", [PD] = "pd",   [MR] = "mr", [MW] = "mw",	  [UMEM] = "umem",
	[UAR] = "uar",	       [CQ] = "cq",   [QP] = "qp", [SRQ] = "srq",
};

atomic_t standin_live[KINDS];
static atomic_t umem_dereg_failure;
static struct dentry *folder;
static DEFINE_MUTEX(presence);
static bool present = true;

int standin_take_umem_dereg_failure(void)
{
	return atomic_xchg(&umem_dereg_failure, 0);
}

static int live_show(struct seq_file *out, void *unused)
{
	int kind;

	for (kind = 0; kind < KINDS; kind++)
		seq_printf(out, "%s %d\n", kind_names[kind], atomic_read(&standin_live[kind]));
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(live);

static int failure_get(void *unused, u64 *value)
{
	*value = atomic_read(&umem_dereg_failure);
	return 0;
}

static int failure_set(void *unused, u64 value)
{
	if (value >= MAX_ERRNO)
		return -EINVAL;
	atomic_set(&umem_dereg_failure, value);
	return 0;
}
DEFINE_DEBUGFS_ATTRIBUTE(failure_fops, failure_get, failure_set, "%llu\n");

static int present_get(void *unused, u64 *value)
{
	*value = present;
	return 0;
}

static int present_set(void *unused, u64 value)
{
	int err = 0;

	mutex_lock(&presence);
	if (value && !present)
		err = standin_plug();
	else if (!value && present)
		standin_unplug();
	if (!err)
		present = value;
	mutex_unlock(&presence);
	return err;
}
DEFINE_DEBUGFS_ATTRIBUTE(present_fops, present_get, present_set, "%llu\n");

void standin_control_init(void)
{
	folder = debugfs_create_dir("mlx5_standin", NULL);
	debugfs_create_file("live", 0444, folder, NULL, &live_fops);
	debugfs_create_file_unsafe("fail_umem_dereg", 0600, folder, NULL, &failure_fops);
	debugfs_create_file_unsafe("present", 0600, folder, NULL, &present_fops);
}

void standin_control_exit(void)
{
	debugfs_remove_recursive(folder);
	if (present)
		standin_unplug();
}
