/* SPDX-License-Identifier: MIT */
/*
 * truth_load.c - uses files of a cluster file system, and writes down each wait of its own.
 *
 * Usage: truth_load DIR STOP WORKER..., a worker is PATH:OPERATION:THINK_MS:HOLD_MS. Each worker is
 * a process. It repeats its operation until the file STOP exists. Between two operations it sleeps
 * for THINK_MS, half up to one and a half as long. The operations are:
 *
 *	flock     flock(LOCK_EX), kept for HOLD_MS
 *	share     flock(LOCK_SH), kept for HOLD_MS
 *	write     overwrites the same 8 bytes
 *	read      fstat(), which takes the lock for reading
 *	touch     futimens(), which takes the lock for writing; also for a directory
 *	reopen    opens the file, overwrites 8 bytes and closes it
 *	churn     makes a file in the directory PATH, writes it and removes it
 *	append    appends 8 bytes
 *	map       writes into a shared mapping of the file, and has it written back
 *	truncate  writes 64 KiB and truncates the file to nothing
 *	fcntl     an fcntl(2) lock for writing of the whole file, kept for HOLD_MS
 *	fread     an fcntl(2) lock for reading of the whole file, kept for HOLD_MS
 *	rename    moves a file from the directory PATH to its subdirectory named "other" and back
 *	orphan    makes a file in the directory PATH, removes it, and writes to it while it is open
 *
 * reopen, churn, rename and orphan keep no file open.
 *
 * A worker writes its truth to DIR/truth.HOST.N, as lines. Times are microseconds since boot.
 *
 *	w PID OPERATION INODE PATH   at the beginning
 *	b BEGIN                      the operation begins
 *	e END [RELEASED]             the operation has ended; the time at which the flock was given
 *	                             up
 *
 * A worker writes out its lines before it may wait, at most every FLUSH_MS. So the lines of a
 * machine without power end shortly before its end.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { FLUSH_MS = 250, STOP_MS = 500, WORKERS_MAX = 64 };

struct worker {
	char path[256], operation[16];
	unsigned think_ms, hold_ms;
	int fd;  /* the file of the operation */
	int out; /* the truth */
	int64_t flushed_us, looked_us;
	char text[16384];
	size_t len;
	uint64_t n;
};

static int64_t now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * INT64_C(1000000) + ts.tv_nsec / 1000;
}

static void sleep_us(int64_t us)
{
	struct timespec ts = {.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000};

	while (nanosleep(&ts, &ts) < 0 && errno == EINTR)
		;
}

static void fail(const char *what)
{
	fprintf(stderr, "truth_load: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void flush(struct worker *w)
{
	for (size_t at = 0; at < w->len;) {
		ssize_t n = write(w->out, w->text + at, w->len - at);

		if (n < 0)
			fail("truth");
		at += (size_t)n;
	}
	w->len = 0;
	w->flushed_us = now_us();
}

__attribute__((format(printf, 2, 3))) static void note(struct worker *w, const char *format, ...)
{
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(w->text + w->len, sizeof(w->text) - w->len, format, args);
	va_end(args);
	w->len += n > 0 ? (size_t)n : 0;
	if (w->len > sizeof(w->text) - 512)
		flush(w);
}

/* ---- operations ---------------------------------------------------------------------------- */

static bool is(const struct worker *w, const char *operation)
{
	return strcmp(w->operation, operation) == 0;
}

static bool keeps_open(const struct worker *w)
{
	return !is(w, "churn") && !is(w, "reopen") && !is(w, "rename") && !is(w, "orphan");
}

static void reopen(struct worker *w)
{
	int fd = open(w->path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || pwrite(fd, "written\n", 8, 0) != 8 || close(fd) < 0)
		fail(w->path);
}

static void churn(struct worker *w)
{
	char path[400];
	int fd;

	snprintf(path, sizeof(path), "%s/churn.%ld.%" PRIu64, w->path, (long)getpid(), w->n % 8);
	fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
	if (fd < 0 || write(fd, "churned\n", 8) != 8 || close(fd) < 0)
		fail(path);
	if (unlink(path) < 0)
		fail(path);
}

static void orphan(struct worker *w)
{
	static char block[4096];
	char path[400];
	int fd;

	snprintf(path, sizeof(path), "%s/orphan.%ld", w->path, (long)getpid());
	fd = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0644);
	if (fd < 0 || unlink(path) < 0 || write(fd, block, sizeof(block)) != sizeof(block) ||
	    close(fd) < 0)
		fail(path);
}

static void move(struct worker *w)
{
	char here[400], there[400];
	int fd;

	snprintf(here, sizeof(here), "%s/moved.%ld", w->path, (long)getpid());
	snprintf(there, sizeof(there), "%s/other/moved.%ld", w->path, (long)getpid());
	fd = w->n == 1 ? open(here, O_CREAT | O_WRONLY | O_CLOEXEC, 0644) : -1;
	if (fd >= 0)
		close(fd);
	if (rename(here, there) < 0 || rename(there, here) < 0)
		fail(here);
}

static int map(struct worker *w)
{
	char *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, w->fd, 0);

	if (at == MAP_FAILED)
		return -1;
	at[w->n % 64] = (char)('a' + w->n % 26);
	if (msync(at, 4096, MS_SYNC) < 0)
		return -1;
	return munmap(at, 4096);
}

static int cut(struct worker *w)
{
	static char block[65536];

	return pwrite(w->fd, block, sizeof(block), 0) == sizeof(block) ? ftruncate(w->fd, 0) : -1;
}

static int append(struct worker *w)
{
	fcntl(w->fd, F_SETFL, O_APPEND);
	return write(w->fd, "written\n", 8) == 8 ? 0 : -1;
}

static int lock_whole(struct worker *w, short type)
{
	struct flock whole = {.l_type = type, .l_whence = SEEK_SET};

	return fcntl(w->fd, F_SETLKW, &whole);
}

static void operate(struct worker *w)
{
	static const struct timespec now[2] = {{.tv_nsec = UTIME_NOW}, {.tv_nsec = UTIME_NOW}};
	struct stat st;
	int err = 0;

	if (is(w, "flock"))
		err = flock(w->fd, LOCK_EX);
	else if (is(w, "share"))
		err = flock(w->fd, LOCK_SH);
	else if (is(w, "write"))
		err = pwrite(w->fd, "written\n", 8, 0) == 8 ? 0 : -1;
	else if (is(w, "read"))
		err = fstat(w->fd, &st);
	else if (is(w, "touch"))
		err = futimens(w->fd, now);
	else if (is(w, "reopen"))
		reopen(w);
	else if (is(w, "append"))
		err = append(w);
	else if (is(w, "map"))
		err = map(w);
	else if (is(w, "truncate"))
		err = cut(w);
	else if (is(w, "fcntl"))
		err = lock_whole(w, F_WRLCK);
	else if (is(w, "fread"))
		err = lock_whole(w, F_RDLCK);
	else if (is(w, "rename"))
		move(w);
	else if (is(w, "orphan"))
		orphan(w);
	else
		churn(w);
	if (err)
		fail(w->path);
}

static bool is_flock(const struct worker *w)
{
	return is(w, "flock") || is(w, "share");
}

static bool holds(const struct worker *w)
{
	return is_flock(w) || is(w, "fcntl") || is(w, "fread");
}

static void once(struct worker *w)
{
	int64_t end;

	w->n++;
	note(w, "b %" PRId64 "\n", now_us());
	if (now_us() - w->flushed_us > FLUSH_MS * 1000)
		flush(w);
	operate(w);
	end = now_us();
	if (!holds(w)) {
		note(w, "e %" PRId64 "\n", end);
		return;
	}
	note(w, "e %" PRId64 " ", end);
	if (w->hold_ms > FLUSH_MS)
		flush(w); /* the line is still to be ended */
	sleep_us(w->hold_ms * INT64_C(1000));
	note(w, "%" PRId64 " ", now_us());
	if ((is_flock(w) ? flock(w->fd, LOCK_UN) : lock_whole(w, F_UNLCK)) < 0)
		fail(w->path);
	note(w, "%" PRId64 "\n", now_us());
}

/* ---- workers ------------------------------------------------------------------------------- */

static bool stopped(struct worker *w, const char *stop)
{
	if (now_us() - w->looked_us < STOP_MS * 1000)
		return false;
	w->looked_us = now_us();
	return access(stop, F_OK) == 0;
}

static void work(struct worker *w, const char *dir, const char *stop, unsigned number)
{
	char path[512], host[128];
	struct stat st;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	srand((unsigned)getpid());
	gethostname(host, sizeof(host));
	snprintf(path, sizeof(path), "%s/truth.%s.%u", dir, host, number);
	w->out = open(path, O_CREAT | O_TRUNC | O_WRONLY | O_APPEND | O_CLOEXEC, 0644);
	w->fd = open(w->path, O_RDWR | O_CLOEXEC);
	if (w->fd < 0 && errno == EISDIR)
		w->fd = open(w->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (w->out < 0 || w->fd < 0 || fstat(w->fd, &st) < 0)
		fail(w->out < 0 ? path : w->path);
	note(w, "w %ld %s %" PRIu64 " %s\n", (long)getpid(), w->operation, (uint64_t)st.st_ino,
	     w->path);
	flush(w);
	if (!keeps_open(w))
		close(w->fd);
	while (!stopped(w, stop)) {
		sleep_us(w->think_ms * (INT64_C(500) + rand() % 1000));
		once(w);
	}
	flush(w);
	exit(0);
}

int main(int argc, char **argv)
{
	static struct worker w;
	int status, worst = 0;

	if (argc < 4 || argc - 3 > WORKERS_MAX) {
		fprintf(stderr, "usage: truth_load DIR STOP PATH:OPERATION:THINK_MS:HOLD_MS...\n");
		return 2;
	}
	for (int i = 3; i < argc; i++) {
		if (sscanf(argv[i], "%255[^:]:%15[^:]:%u:%u", w.path, w.operation, &w.think_ms,
			   &w.hold_ms) != 4) {
			fprintf(stderr, "truth_load: %s: not a worker\n", argv[i]);
			return 2;
		}
		if (fork() == 0)
			work(&w, argv[1], argv[2], (unsigned)i);
	}
	printf("started\n");
	fflush(stdout);
	while (wait(&status) > 0)
		worst |= status;
	return worst != 0;
}
