/* SPDX-License-Identifier: MIT */
/*
 * adversary.c - shared by the adversary tests: spaces, requests, processes with a time limit.
 */
#include "adversary.h"

#include "../fork_quietly.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/wait.h>

enum { LIMIT_S = 60 };

struct shared *shared;
const char *lockman;
struct glock_space *space;
struct glock *gl;
static char space_name[64];

void wrong(const char *file, int line, const char *fmt, ...)
{
	char text[512];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	dprintf(STDOUT_FILENO, "# %s:%d: %s\n", file, line, text);
	_exit(1);
}

int64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * SECOND + ts.tv_nsec;
}

void nap(int64_t ns)
{
	const struct timespec ts = {.tv_sec = ns / SECOND, .tv_nsec = ns % SECOND};

	nanosleep(&ts, NULL);
}

void breathe(void)
{
	nap(100000);
}

uint32_t dice(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return (uint32_t)(*state >> 16);
}

struct glock_space *open_space_with(struct glock_space_options options)
{
	struct glock_space *space = NULL;

	options.size = sizeof(options);
	options.lockman = lockman;
	SAME(glock_space_open(space_name, &options, &space), 0);
	CHECK(space);
	return space;
}

struct glock_space *open_space(const struct glock_type_options *types, size_t n, unsigned int flags)
{
	return open_space_with(
	    (struct glock_space_options){.types = types, .n_types = n, .flags = flags});
}

struct glock *get(struct glock_space *space, unsigned int type, uint64_t number)
{
	struct glock *gl = NULL;

	SAME(glock_get(space, type, number, &gl), 0);
	CHECK(gl);
	return gl;
}

void begin(void)
{
	static const struct glock_type_options types[] = {
	    {.size = sizeof(types[0]),
	     .type = GLOCK_INODE,
	     .flags = GLOCK_OPS_LVB,
	     .hold = GLOCK_HOLD_NONE},
	    {.size = sizeof(types[0]), .type = GLOCK_FLOCK, .flags = GLOCK_OPS_RECUR},
	};

	space = open_space(types, COUNT(types), 0);
	gl = get(space, GLOCK_INODE, 1);
}

void end(void)
{
	glock_put(gl);
	SAME(glock_space_close(space), 0);
}

int ask_as(struct glock_holder *gh, enum glock_mode mode, unsigned int flags, uint64_t owner)
{
	glock_holder_init(gh, gl, mode, flags);
	if (owner)
		glock_holder_owner(gh, owner);
	return glock_nq(gh);
}

int ask(struct glock_holder *gh, enum glock_mode mode, unsigned int flags)
{
	return ask_as(gh, mode, flags, 0);
}

int try_told(struct glock_holder *gh, enum glock_mode mode)
{
	int err;

	do
		err = ask(gh, mode, GLOCK_TRY);
	while (err == -EAGAIN);
	return err;
}

int ask_somehow(struct glock_holder *gh, enum glock_mode mode, uint64_t *seed)
{
	int err;

	switch (dice(seed) % 6) {
	case 0:
		return ask(gh, mode, GLOCK_NOCACHE);
	case 1:
		SAME(ask(gh, mode, GLOCK_ASYNC), 0);
		while ((err = glock_wait(gh, now() + dice(seed) % 1000000, 0)) == -ETIMEDOUT)
			;
		return err;
	case 2:
		for (int i = 0; i < 20; i++) {
			static const unsigned int how[] = {GLOCK_TRY, GLOCK_TRY_1CB,
							   GLOCK_TRY_CACHED};

			err = ask(gh, mode, how[dice(seed) % 3]);
			if (err != -EAGAIN && err != -EBUSY)
				return err;
		}
		return ask(gh, mode, 0);
	case 3:
		SAME(ask(gh, mode, GLOCK_ASYNC), 0);
		err = glock_cancel(gh);
		CHECK(!err || err == -EALREADY);
		if (err)
			return glock_wait(gh, 0, 0);
		SAME(glock_wait(gh, 0, 0), -ECANCELED);
		return ask(gh, mode, 0);
	case 4:
		err = ask(gh, mode, GLOCK_NOBLOCK);
		if (err != -ECHILD)
			return err;
		/* fallthrough */
	default:
		return ask(gh, mode, 0);
	}
}

pid_t start(void (*fn)(void *), void *arg)
{
	pid_t pid = fork_quietly();

	CHECK(pid >= 0);
	if (!pid) {
		fn(arg);
		exit(0);
	}
	return pid;
}

static int ended(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) != pid)
		CHECK(errno == EINTR);
	return status;
}

void join(pid_t pid)
{
	int status = ended(pid);

	if (status)
		wrong(__FILE__, __LINE__, "process %d ended with status 0x%x", (int)pid, status);
}

void crowd(void (*fn)(void *), uintptr_t n)
{
	pid_t pid[16];

	CHECK(n <= COUNT(pid));
	for (uintptr_t i = 0; i < n; i++)
		pid[i] = start(fn, (void *)i);
	for (uintptr_t i = 0; i < n; i++)
		join(pid[i]);
}

void join_killed(pid_t pid)
{
	int status = ended(pid);

	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

pthread_t thread(void *(*fn)(void *), void *arg)
{
	pthread_t t;

	SAME(pthread_create(&t, NULL, fn, arg), 0);
	return t;
}

void join_thread(pthread_t t)
{
	SAME(pthread_join(t, NULL), 0);
}

size_t threads_named(const char *begin)
{
	DIR *dir = opendir("/proc/self/task");
	struct dirent *e;
	size_t n = 0;

	CHECK(dir);
	while ((e = readdir(dir))) {
		char path[300], name[32] = "";
		FILE *f;

		snprintf(path, sizeof(path), "/proc/self/task/%s/comm", e->d_name);
		f = fopen(path, "re");
		if (f && fgets(name, sizeof(name), f))
			n += !strncmp(name, begin, strlen(begin));
		if (f)
			fclose(f);
	}
	closedir(dir);
	return n;
}

/* Runs one test in a process group of its own. Returns NULL, or its failure in words. */
static const char *run_one(const struct test *test)
{
	const int64_t until =
	    now() + (getenv("ADVERSARY_S") ? atoi(getenv("ADVERSARY_S")) : LIMIT_S) * SECOND;
	sigset_t child;
	int status = 0;
	pid_t pid;

	memset(shared, 0, sizeof(*shared));
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, NULL);
	pid = fork();
	if (pid < 0)
		return "fork";
	if (!pid) {
		setpgid(0, 0);
		sigprocmask(SIG_UNBLOCK, &child, NULL);
		test->run();
		exit(0);
	}
	setpgid(pid, pid);
	while (waitpid(pid, &status, WNOHANG) != pid) {
		int64_t left = until - now();
		const struct timespec ts = {.tv_sec = left / SECOND, .tv_nsec = left % SECOND};

		if (left <= 0) {
			kill(-pid, SIGKILL);
			waitpid(pid, &status, 0);
			return "took too long";
		}
		sigtimedwait(&child, NULL, &ts);
	}
	kill(-pid, SIGKILL);
	return !status ? NULL : WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "wrong";
}

void forget_spaces(void)
{
	const char *path = getenv("GLOCK_DIR");
	DIR *dir = path ? opendir(path) : NULL;
	const struct dirent *entry;

	if (!dir)
		return;
	while ((entry = readdir(dir)))
		unlinkat(dirfd(dir), entry->d_name, 0);
	closedir(dir);
}

/*
 * Gives the spaces a directory of their own, unless in_dir.sh did so already. An earlier run that
 * was killed leaves spaces with dead nodes, whose recoveries no test expects.
 */
static void own_directory(char *path)
{
	if (getenv("GLOCK_DIR"))
		*path = '\0';
	else if (!mkdtemp(path) || setenv("GLOCK_DIR", path, 1))
		wrong(__FILE__, __LINE__, "%s: %s", path, strerror(errno));
}

int run_tests(const struct test *tests, size_t n)
{
	char directory[] = "/dev/shm/glock-test-XXXXXX";
	const char *const all[] = {"none", getenv("GLOCK_ETCD") ? "etcd" : "local"};
	const char *only = getenv("ADVERSARY"); /* a part of a test's name */
	int number = 0, failed = 0;

	setvbuf(stdout, NULL, _IONBF, 0);
	own_directory(directory);
	shared =
	    mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		return 1;
	for (size_t i = 0; i < n; i++)
		for (size_t m = 0; m < COUNT(all); m++) {
			const char *why;

			/* A test of processes that share by local is one of etcd, too. */
			if (tests[i].lockman && m != (strcmp(tests[i].lockman, "none") != 0))
				continue;
			if (only && !strstr(tests[i].name, only))
				continue;
			lockman = all[m];
			snprintf(space_name, sizeof(space_name), "%s", tests[i].name);
			why = run_one(&tests[i]);
			forget_spaces();
			printf("%sok %d - %s (%s)%s%s\n", why ? "not " : "", ++number,
			       tests[i].name, all[m], why ? " # " : "", why ? why : "");
			failed += why != NULL;
		}
	if (*directory)
		rmdir(directory);
	printf("1..%d\n", number);
	return failed != 0;
}
