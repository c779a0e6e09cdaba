/*
 * A has the device file and a PD when something happens to the ledger; B and C come after that. What happens is said by
 * SABOTAGE, in the folder LEDGER. All calls succeed as if nothing were the matter. tests/across.rs says what the guard
 * has to say.
 */
#include "../across/actors.h"

#include <glob.h>
#include <sys/stat.h>

#define NOBODY 65534

static char *device_file, *log_file, *aside;

/* The only device file's folder, and the log in it. */
static void find_ledger(void)
{
	char pattern[4096];
	glob_t found;

	snprintf(pattern, sizeof(pattern), "%s/*/log.*", getenv("LEDGER"));
	MUST(glob(pattern, 0, NULL, &found) == 0 && found.gl_pathc == 1);
	log_file = strdup(found.gl_pathv[0]);
	device_file = strdup(log_file);
	*strrchr(device_file, '/') = '\0';
	MUST(asprintf(&aside, "%s/aside", getenv("LEDGER")) > 0);
	globfree(&found);
}

/* Its bytes are changed where they stand. */
static void change_log(void (*change)(char *, long))
{
	static char bytes[1 << 20];
	int fd = open(log_file, O_RDWR);
	long size = read(fd, bytes, sizeof(bytes));

	MUST(size > 0);
	change(bytes, size);
	MUST(pwrite(fd, bytes, size, 0) == size);
	close(fd);
}

/* A shorter file takes the log's place; who has the old one mapped keeps that. */
static void cut_log(void)
{
	int fd;

	MUST(rename(log_file, aside) == 0);
	fd = open(log_file, O_WRONLY | O_CREAT | O_EXCL, 0600);
	MUST(fd >= 0 && write(fd, aside, 8) == 8);
	close(fd);
}

static void garbage(char *bytes, long size)
{
	memset(bytes, 0xa5, size);
}

/* The records, not the header. */
static void scribble(char *bytes, long size)
{
	for (long i = 64; i < size; i += 3)
		bytes[i] ^= 0x55;
}

static void other_version(char *bytes, long size)
{
	(void)size;
	bytes[8]++;
}

static void sabotage(const char *how)
{
	find_ledger();
	if (strcmp(how, "garbage") == 0)
		change_log(garbage);
	else if (strcmp(how, "scribble") == 0)
		change_log(scribble);
	else if (strcmp(how, "version") == 0)
		change_log(other_version);
	else if (strcmp(how, "truncated") == 0)
		cut_log();
	else if (strcmp(how, "truncated-in-place") == 0)
		MUST(truncate(log_file, 100) == 0);
	else if (strcmp(how, "owner") == 0)
		MUST(chown(log_file, NOBODY, -1) == 0);
	else if (strcmp(how, "folder-owner") == 0)
		MUST(chown(device_file, NOBODY, -1) == 0);
	else if (strcmp(how, "link") == 0)
		MUST(rename(log_file, aside) == 0 && symlink(aside, log_file) == 0);
	else if (strcmp(how, "folder-link") == 0)
		MUST(rename(device_file, aside) == 0 && symlink(aside, device_file) == 0);
	else
		MUST(strcmp(how, "none") == 0);
}

/* More than the log has room for. */
static long works(long unused)
{
	for (int i = 0; i < 200; i++) {
		struct ibv_pd *own = ibv_alloc_pd(context);

		MUST(own && ibv_dealloc_pd(own) == 0);
	}
	return unused;
}

static void joins_and_uses(struct actor A, struct actor other, long handle)
{
	hand_on(A, other);
	ask(other, imports, handle);
	ask(other, regs, 0);
	ask(other, deregs, 0);
	ask(other, works, 0);
}

int main(void)
{
	actors();

	struct actor A = start("A"), B = start("B"), C = start("C");
	const char *how = getenv("SABOTAGE");
	long handle;

	ask(A, opens, 0);
	handle = ask(A, allocs, 0);
	if (how)
		sabotage(how);
	joins_and_uses(A, B, handle);
	ask(A, works, 0);
	joins_and_uses(A, C, handle);
	ask(C, unimports, 0);
	ask(B, unimports, 0);
	MUST(ask(A, deallocs, 0) == 0);
	ask(C, closes, 0);
	ask(B, closes, 0);
	ask(A, closes, 0);
	end(C);
	end(B);
	end(A);
	return worst_status;
}
