/* SPDX-License-Identifier: MIT */
/*
 * test_frozen.c - freezes a process in a lock table by a control group, of each version that this
 * machine has. Other processes take the table over, as from a stopped process.
 */
#include "inside.h"

#include "glock.h"

#include <errno.h>
#include <fcntl.h>
#include <mntent.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum { LOCKS = 64, ROUNDS = 5, TRIES = 20000 };

/* ---- a control group of this test ---- */

struct freezer {
	char dir[256];
	bool v2;
};
static struct freezer freezers[2];
static size_t n_freezers;

static bool put(const struct freezer *f, const char *file, const char *text)
{
	char path[320];
	int fd;
	bool ok;

	snprintf(path, sizeof(path), "%s/%s", f->dir, file);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	ok = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
	if (fd >= 0)
		close(fd);
	return ok;
}

static bool has(const struct freezer *f, const char *file, const char *word)
{
	char path[320], text[512] = "";
	int fd;

	snprintf(path, sizeof(path), "%s/%s", f->dir, file);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	if (read(fd, text, sizeof(text) - 1) < 0)
		*text = '\0';
	close(fd);
	return strstr(text, word);
}

static void find_freezers(void)
{
	FILE *mounts = setmntent("/proc/mounts", "re");
	struct mntent *m;

	while (mounts && n_freezers < 2 && (m = getmntent(mounts))) {
		struct freezer *f = &freezers[n_freezers];

		f->v2 = !strcmp(m->mnt_type, "cgroup2");
		if (!f->v2 && (strcmp(m->mnt_type, "cgroup") || !hasmntopt(m, "freezer")))
			continue;
		if (snprintf(f->dir, sizeof(f->dir), "%s/glock-test-%d", m->mnt_dir, getpid()) >=
			(int)sizeof(f->dir) ||
		    mkdir(f->dir, 0755))
			continue;
		if (has(f, f->v2 ? "cgroup.freeze" : "freezer.state", ""))
			n_freezers++;
		else
			rmdir(f->dir);
	}
	if (mounts)
		endmntent(mounts);
}

static bool freeze(const struct freezer *f, bool on)
{
	if (f->v2)
		return put(f, "cgroup.freeze", on ? "1" : "0");
	return put(f, "freezer.state", on ? "FROZEN" : "THAWED");
}

static bool is_frozen(const struct freezer *f)
{
	return f->v2 ? has(f, "cgroup.events", "frozen 1") : has(f, "freezer.state", "FROZEN");
}

/* Freezes the process while it has a table. */
static bool freeze_inside(const struct freezer *f, pid_t pid)
{
	for (int i = 0; i < TRIES; i++) {
		const struct timespec pause = {.tv_nsec = 1000 * (random() % 50)};

		if (!freeze(f, true))
			return false;
		while (!is_frozen(f))
			nanosleep(&pause, NULL);
		if (inside_has_table("frozen", pid))
			return true;
		freeze(f, false);
		nanosleep(&pause, NULL);
	}
	return false;
}

/* ---- the end ---- */

static int guarded = -1; /* the write end of a pipe, in this process only */

/*
 * Starts a process that thaws and removes the groups once this process has ended or has closed
 * `guarded`. A frozen process could not be killed.
 */
static pid_t begin_guard(void)
{
	int ends[2];
	char byte;
	pid_t pid;

	if (pipe(ends))
		return -1;
	guarded = ends[1];
	pid = fork();
	if (pid) {
		close(ends[0]);
		return pid;
	}
	setsid(); /* a signal to the group of the test does not end this process */
	close(ends[1]);
	while (read(ends[0], &byte, 1) < 0 && errno == EINTR)
		;
	for (size_t i = 0; i < n_freezers; i++) {
		freeze(&freezers[i], false);
		while (rmdir(freezers[i].dir) && errno == EBUSY)
			usleep(1000); /* until the last process has left */
	}
	_exit(0);
}

/* ---- processes ---- */

static int *stop; /* an atom; in memory of both processes */
static pid_t child;

static struct glock_space *open_frozen(struct glock **gls, uint64_t first)
{
	const struct glock_space_options o = {.size = sizeof(o), .lockman = "local"};
	struct glock_space *space;

	if (glock_space_open("frozen", &o, &space))
		return NULL;
	for (uint64_t i = 0; i < LOCKS; i++)
		if (glock_get(space, GLOCK_NONDISK, first + i, &gls[i]))
			return NULL;
	return space;
}

static void close_frozen(struct glock_space *space, struct glock **gls)
{
	for (int i = 0; i < LOCKS; i++)
		glock_put(gls[i]);
	assert_int_equal(glock_space_close(space), 0);
}

static void works(void)
{
	struct glock *gls[LOCKS];
	struct glock_space *space = open_frozen(gls, 1000);
	struct glock_holder gh;

	close(guarded);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (unsigned int i = 0; space && !__atomic_load_n(stop, __ATOMIC_ACQUIRE); i++) {
		glock_holder_init(&gh, gls[i % LOCKS], GLOCK_EX, GLOCK_NOCACHE);
		if (glock_nq(&gh) || glock_dq_wait(&gh))
			_exit(1);
	}
	for (int i = 0; space && i < LOCKS; i++)
		glock_put(gls[i]);
	_exit(!space || glock_space_close(space));
}

/* Each request for another lock ends while the process is frozen. */
static void ask_for_others(struct glock **gls)
{
	static const unsigned int ways[] = {0, GLOCK_TRY, GLOCK_TRY_CACHED, GLOCK_TRY_1CB};
	struct glock_holder gh;

	for (unsigned int i = 0; i < LOCKS; i++) {
		const unsigned int way = ways[i % 4];
		int err;

		glock_holder_init(&gh, gls[i], GLOCK_EX, GLOCK_NOCACHE | way);
		err = glock_nq(&gh);
		assert_true(!err || (way && (err == -EAGAIN || err == -EBUSY)));
		if (!err)
			assert_int_equal(glock_dq(&gh), 0);
	}
}

static void frozen_by(const struct freezer *f)
{
	struct glock *gls[LOCKS];
	struct glock_space *space;
	struct inside in;
	char text[16];
	int status;

	*stop = 0;
	child = fork();
	if (!child)
		works();
	snprintf(text, sizeof(text), "%d", (int)child);
	assert_true(put(f, "cgroup.procs", text));
	space = open_frozen(gls, 5000);
	assert_non_null(space);
	for (int i = 0; i < ROUNDS; i++) {
		assert_true(freeze_inside(f, child));
		ask_for_others(gls);
		assert_true(is_frozen(f));
		assert_true(freeze(f, false));
	}
	__atomic_store_n(stop, 1, __ATOMIC_RELEASE);
	assert_int_equal(waitpid(child, &status, 0), child);
	child = 0;
	assert_int_equal(status, 0);
	inside_look("frozen", &in);
	assert_null(in.wrong);
	assert_true(in.stolen > 0);
	close_frozen(space, gls);
}

static void frozen_inside_a_table(void **state)
{
	(void)state;
	for (size_t i = 0; i < n_freezers; i++)
		frozen_by(&freezers[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(frozen_inside_a_table)};
	pid_t guard;
	int failed;

	find_freezers();
	if (!n_freezers) {
		puts("1..0 # SKIP needs freezer");
		return 0;
	}
	stop = mmap(NULL, sizeof(*stop), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	guard = begin_guard();
	cmocka_set_message_output(CM_OUTPUT_TAP);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	if (child > 0)
		kill(child, SIGKILL);
	close(guarded);
	waitpid(guard, NULL, 0);
	return failed;
}
