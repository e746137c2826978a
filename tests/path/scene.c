/* SPDX-License-Identifier: MIT */
/* scene.c - see scene.h. */
#include "scene.h"

#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

struct scene_shared *scene;
static char folder[] = "/tmp/glock-path-XXXXXX";
static pid_t owner;

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st, (void)type, (void)at;
	return remove(path);
}

static void remove_folder(void)
{
	if (getpid() == owner)
		nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

void scene_folder(void)
{
	if (!mkdtemp(folder) || chdir(folder))
		abort();
	owner = getpid();
	atexit(remove_folder);
	scene =
	    mmap(NULL, sizeof(*scene), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (scene == MAP_FAILED)
		abort();
}

void scene_reset(void)
{
	memset(scene, 0, sizeof(*scene));
}

int64_t scene_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ll + ts.tv_nsec;
}

void scene_sleep_ms(long ms)
{
	const struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

	nanosleep(&t, NULL);
}

pid_t scene_fork(void (*fn)(void *arg), void *arg)
{
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGBUS, SIG_DFL); /* cmocka's handler goes on with the next test */
	fn(arg);
	fflush(NULL);
	exit(0);
}

void scene_join(pid_t pid)
{
	int status = -1;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void scene_log(void *arg, const char *message)
{
	(void)arg;
	fprintf(stderr, "# %s\n", message);
}

struct glock *scene_get(const char *path)
{
	const struct glock_path_options o = {.size = sizeof(o), .log = scene_log};
	struct glock *gl;
	int err = glock_get_path(NULL, path, &o, &gl);

	if (err) {
		fprintf(stderr, "# %s: %s\n", path, strerror(-err));
		exit(2);
	}
	return gl;
}

/* A new file is not locked, so the step that replaces a file is the last one of the turn. */
static void play(bool shared, void (*last)(void))
{
	unsigned int before =
	    __atomic_fetch_add(&scene->inside, shared ? 1 : 1000, __ATOMIC_SEQ_CST);

	if (shared ? before >= 1000 : before)
		__atomic_fetch_add(&scene->overlaps, 1, __ATOMIC_SEQ_CST);
	__atomic_fetch_add(&scene->turns, 1, __ATOMIC_SEQ_CST);
	__atomic_fetch_sub(&scene->inside, shared ? 1 : 1000, __ATOMIC_SEQ_CST);
	if (last)
		last();
}

void scene_turn(struct glock *gl, enum glock_mode mode, void (*last)(void))
{
	struct glock_holder gh;
	int err = glock_lock(gl, mode, &gh);

	if (err) {
		fprintf(stderr, "# glock_lock: %s\n", strerror(-err));
		exit(3);
	}
	play(mode == GLOCK_SH, last);
	if (glock_unlock(&gh))
		exit(4);
}

int scene_plain(const char *path, int operation)
{
	int fd = open(path, O_RDONLY | O_CREAT | O_NOCTTY | O_CLOEXEC, 0666);

	if (fd < 0 || !flock(fd, operation))
		return fd;
	close(fd);
	return -1;
}

void scene_plain_turn(const char *path, int operation, void (*last)(void))
{
	struct stat a, b;
	int fd = scene_plain(path, operation);

	while (fd < 0 || fstat(fd, &a) || stat(path, &b) || a.st_ino != b.st_ino) {
		if (fd >= 0)
			close(fd);
		fd = scene_plain(path, operation);
	}
	play(operation & LOCK_SH, last);
	close(fd);
}
