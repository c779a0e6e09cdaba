/*
 * kills SEED KILLS: processes share a device file rightly, and are killed at any moment, also in the middle of a call.
 *
 * A keeper has the device file open all the time. Workers make objects, publish some, import what others published and
 * end all that they may end; whatever they do is legal. The director, which makes no verbs call, kills one after the
 * other and starts new ones. It knows of each killed worker whether it was in a call that makes or ends something: what
 * the kernel has and what the ledger has may differ by no more than these calls.
 *
 * SOAK_STATS and SOAK_LEDGER are the commands that tell the kernel's counts and the ledger's. The last lines are for the
 * harness (tests/src/soak/kills.rs), which also reads what the guards say.
 */
#define NEEDS_UMEM_EXPORT
#include "../common/trace.h"

#include <signal.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <sys/socket.h>

enum { WORKERS = 4, SLOTS = 1 << 14, HELD = 16, PATIENCE_MS = 30000 };

enum calling { NOTHING, MAKING_PD, MAKING_UMEM, ENDING_PD, ENDING_UMEM, CALLINGS };

enum { UNUSED, FILLING, PUBLISHED, GONE };

/* An object that its maker has made known. `users` counts who has it, and is -1 once it is to go. */
struct slot {
	atomic_int state, users;
	bool is_umem;
	uint32_t handle;
	struct blob blob;
};

static struct shared {
	_Atomic(enum calling) calling[WORKERS];
	atomic_bool witnessed;
	atomic_ulong steps[WORKERS];
	struct slot slots[SLOTS];
	atomic_uint used;
} *shared;

struct held {
	struct ibv_pd *pd;
	struct mlx5dv_devx_umem *umem;
	struct ibv_mr *mr;
	struct slot *slot;
};

static struct held held[HELD];
static struct ibv_context *context;
static uint64_t state;
static int self;
/* Descriptors: asked for at one end, given at the other. */
static int asks[2];

static uint32_t random_below(uint32_t bound)
{
	state = state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (uint32_t)(state >> 33) % bound;
}

static struct ibv_context *open_quietly(void)
{
	struct mlx5dv_context_attr attr = { .flags = MLX5DV_CONTEXT_FLAGS_DEVX };
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *opened;

	MUST(list && list[0]);
	opened = mlx5dv_open_device(list[0], &attr);
	MUST(opened);
	ibv_free_device_list(list);
	return opened;
}

static bool give_fd(int fd)
{
	char control[CMSG_SPACE(sizeof(fd))] = { 0 };
	struct iovec byte = { "", 1 };
	struct msghdr message = {
		.msg_iov = &byte, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control),
	};
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);

	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(sizeof(fd));
	memcpy(CMSG_DATA(header), &fd, sizeof(fd));
	return sendmsg(asks[1], &message, MSG_NOSIGNAL | MSG_DONTWAIT) == 1;
}

/* All that is given is the same: what a killed worker asked for another one may take. */
static int ask_for_fd(void)
{
	char control[CMSG_SPACE(sizeof(int))] = { 0 }, byte = 'f';
	struct iovec part = { &byte, 1 };
	struct msghdr message = {
		.msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control),
	};
	int fd;

	MUST(send(asks[0], &byte, 1, 0) == 1);
	MUST(recvmsg(asks[0], &message, MSG_CMSG_CLOEXEC) == 1 && CMSG_FIRSTHDR(&message));
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(fd));
	return fd;
}

/* Has the device file open and gives it away, until it is asked to end: then its guard tells what is left. */
static void keep(void)
{
	char wanted;

	prctl(PR_SET_NAME, "keeper");
	context = open_quietly();
	while (recv(asks[1], &wanted, 1, 0) == 1 && wanted == 'f')
		give_fd(context->cmd_fd);
	exit(0);
}

static void now(enum calling calling)
{
	atomic_store(&shared->calling[self], calling);
}

static struct held *place(bool free_one)
{
	for (int i = 0; i < HELD; i++) {
		struct held *one = &held[(random_below(HELD) + i) % HELD];

		if (free_one != (one->pd || one->umem))
			return one;
	}
	return NULL;
}

static void make(void)
{
	struct held *new = place(true);
	bool is_umem = random_below(2);

	if (!new)
		return;
	*new = (struct held){ 0 };
	now(is_umem ? MAKING_UMEM : MAKING_PD);
	if (is_umem)
		new->umem = mlx5dv_devx_umem_reg(context, buffer, PAGE, IBV_ACCESS_LOCAL_WRITE);
	else
		new->pd = ibv_alloc_pd(context);
	now(NOTHING);
	MUST(new->pd || new->umem);
}

static void publish(void)
{
	struct held *one = place(false);
	struct slot *slot;
	unsigned int number;

	if (!one || one->slot)
		return;
	number = atomic_fetch_add(&shared->used, 1);
	MUST(number < SLOTS);
	slot = &shared->slots[number];
	slot->is_umem = one->umem;
	if (one->umem)
		MUST(mlx5dv_devx_umem_export(one->umem, &slot->blob) == 0);
	else
		slot->handle = one->pd->handle;
	one->slot = slot;
	atomic_store(&slot->state, PUBLISHED);
}

static bool enter(struct slot *slot)
{
	int users = atomic_load(&slot->users);

	while (users >= 0)
		if (atomic_compare_exchange_weak(&slot->users, &users, users + 1))
			return true;
	return false;
}

static void use_imported_pd(struct ibv_pd *pd)
{
	struct ibv_mr *mr;

	MUST(pd);
	/* A killed one leaves its MR, and the PD busy for good. */
	if (!random_below(4)) {
		mr = ibv_reg_mr(pd, buffer, PAGE, IBV_ACCESS_LOCAL_WRITE);
		MUST(mr && ibv_dereg_mr(mr) == 0);
	}
	ibv_unimport_pd(pd);
}

/* Nobody ends what is in use, so an import always finds it. */
static void import(void)
{
	unsigned int used = atomic_load(&shared->used);
	struct slot *slot = used ? &shared->slots[random_below(used)] : NULL;

	if (!slot || atomic_load(&slot->state) != PUBLISHED || !enter(slot))
		return;
	if (slot->is_umem) {
		struct blob blob = slot->blob;
		struct mlx5dv_devx_umem *umem = mlx5dv_devx_umem_import(context, &blob);

		MUST(umem);
		mlx5dv_devx_umem_unimport(umem);
	} else {
		use_imported_pd(ibv_import_pd(context, slot->handle));
	}
	atomic_fetch_sub(&slot->users, 1);
}

static void end_one(void)
{
	struct held *one = place(false);
	int nobody = 0;

	if (!one || one->mr)
		return;
	if (one->slot && !atomic_compare_exchange_strong(&one->slot->users, &nobody, -1))
		return;
	now(one->umem ? ENDING_UMEM : ENDING_PD);
	if (one->umem)
		MUST(mlx5dv_devx_umem_dereg(one->umem) == 0);
	else
		MUST(ibv_dealloc_pd(one->pd) == 0);
	now(NOTHING);
	*one = (struct held){ 0 };
}

static void reg_or_dereg(void)
{
	struct held *one = place(false);

	if (!one || !one->pd)
		return;
	if (one->mr)
		MUST(ibv_dereg_mr(one->mr) == 0);
	one->mr = one->mr ? NULL : ibv_reg_mr(one->pd, buffer, PAGE, IBV_ACCESS_LOCAL_WRITE);
}

/* A device file of its own, which ends with this process at the latest. */
static void alone(void)
{
	struct ibv_context *own = open_quietly();
	struct ibv_pd *pd = ibv_alloc_pd(own);

	MUST(pd && ibv_dealloc_pd(pd) == 0 && ibv_close_device(own) == 0);
}

static void work(int worker, uint64_t seed)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "worker");
	self = worker;
	state = seed;
	now(NOTHING);
	context = ibv_import_device(ask_for_fd());
	MUST(context);
	for (;; atomic_fetch_add(&shared->steps[self], 1)) {
		uint32_t what = random_below(32);

		if (what < 10)
			make();
		else if (what < 15)
			publish();
		else if (what < 20)
			import();
		else if (what < 26)
			end_one();
		else if (what < 28)
			reg_or_dereg();
		else
			alone();
	}
}

/* Has the device file too while the keeper ends: so what is in it lives on, and the keeper has something to tell. */
static void witness(int unused, uint64_t seed)
{
	(void)unused;
	(void)seed;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "witness");
	context = ibv_import_device(ask_for_fd());
	MUST(context);
	atomic_store(&shared->witnessed, true);
	for (;;)
		pause();
}

static pid_t start(void (*body)(int, uint64_t), int worker, uint64_t seed)
{
	pid_t pid = fork();

	MUST(pid >= 0);
	if (pid)
		return pid;
	if (body)
		body(worker, seed);
	keep();
	_exit(0);
}

static void await_progress(int worker)
{
	unsigned long before = atomic_load(&shared->steps[worker]);

	for (int i = 0; atomic_load(&shared->steps[worker]) == before; i++) {
		if (i == PATIENCE_MS) {
			printf("worker %d hangs\n", worker);
			exit(1);
		}
		usleep(1000);
	}
}

static void kill_one(pid_t pid, int worker, unsigned int killed_in[CALLINGS])
{
	int status;

	kill(pid, SIGKILL);
	MUST(waitpid(pid, &status, 0) == pid);
	/* A premise of its own that did not hold: said on its stderr. */
	if (!WIFSIGNALED(status)) {
		printf("worker %d ended with status %#x\n", worker, status);
		exit(1);
	}
	killed_in[atomic_exchange(&shared->calling[worker], NOTHING)]++;
}

/* How many lines of a command's answer hold both words; -1 where it cannot be asked. */
static long lines_with(const char *variable, const char *word, const char *other)
{
	FILE *from = popen(getenv(variable), "r");
	char *line = NULL;
	size_t size = 0;
	long count = 0;

	MUST(from);
	while (getline(&line, &size, from) > 0)
		count += strstr(line, word) && strstr(line, other);
	free(line);
	MUST(pclose(from) == 0);
	return count;
}

/* The kernel's count, from lines of "kind count". */
static long kernel_counts(const char *kind)
{
	FILE *from = popen(getenv("SOAK_STATS"), "r");
	char name[32];
	long count, found = -1;

	MUST(from);
	while (fscanf(from, "%31s %ld", name, &count) == 2)
		if (!strcmp(name, kind))
			found = count;
	MUST(pclose(from) == 0);
	return found;
}

static void print_account(const unsigned int killed_in[CALLINGS])
{
	/* Until only the keeper's device file is left. */
	for (int i = 0; i < PATIENCE_MS / 10 && kernel_counts("context") != 1; i++)
		usleep(10000);
	printf("killed-in making-pd %u making-umem %u ending-pd %u ending-umem %u\n", killed_in[MAKING_PD],
	       killed_in[MAKING_UMEM], killed_in[ENDING_PD], killed_in[ENDING_UMEM]);
	printf("kernel pd %ld umem %ld\n", kernel_counts("pd"), kernel_counts("umem"));
	for (int dying = 0; dying < 2; dying++) {
		const char *wanted = dying ? "\"state\":\"dying\"" : "\"state\":\"live\"";

		printf("%s pd %ld umem %ld\n", dying ? "dying" : "ledger",
		       lines_with("SOAK_LEDGER", "\"type\":\"pd\"", wanted),
		       lines_with("SOAK_LEDGER", "\"type\":\"umem\"", wanted));
	}
	fflush(stdout);
}

int main(int argc, char **argv)
{
	unsigned int killed_in[CALLINGS] = { 0 }, kills;
	pid_t keeper, other, workers[WORKERS];
	int status;

	MUST(argc == 3);
	state = strtoull(argv[1], NULL, 0);
	kills = strtoul(argv[2], NULL, 0);
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	MUST(shared != MAP_FAILED && socketpair(AF_UNIX, SOCK_SEQPACKET, 0, asks) == 0);
	keeper = start(NULL, 0, 0);
	for (int i = 0; i < WORKERS; i++)
		workers[i] = start(work, i, random_below(1 << 30));
	for (unsigned int i = 0; i < kills; i++) {
		int worker = random_below(WORKERS);

		usleep(random_below(12000));
		kill_one(workers[worker], worker, killed_in);
		workers[worker] = start(work, worker, random_below(1 << 30));
	}
	for (int i = 0; i < WORKERS; i++)
		await_progress(i);
	for (int i = 0; i < WORKERS; i++)
		kill_one(workers[i], i, killed_in);
	print_account(killed_in);
	other = start(witness, 0, 0);
	for (int i = 0; i < PATIENCE_MS && !atomic_load(&shared->witnessed); i++)
		usleep(1000);
	MUST(send(asks[0], "e", 1, 0) == 1);
	MUST(waitpid(keeper, &status, 0) == keeper);
	kill(other, SIGKILL);
	MUST(waitpid(other, NULL, 0) == other);
	printf("keeper %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
	return 0;
}
