/* SPDX-License-Identifier: MIT */
/*
 * main.c - shared files from the command line, and counters in them, for several processes at once.
 *
 *	sharedfile DIR read NAME                    to standard output
 *	sharedfile DIR write NAME                   from standard input
 *	sharedfile DIR unlink NAME
 *	sharedfile DIR clean                        destroys unlinked files of killed processes
 *	sharedfile DIR hold NAME                    keeps it open, prints its size at each line
 *	sharedfile DIR stale NAME                   reads without the lock at a line of input: dies
 *	sharedfile DIR load ID SECONDS              see load.c; SIGTERM and SIGINT end it, too
 *	sharedfile DIR zero NAME...                 counters, all 0
 *	sharedfile DIR show NAME...                 counters
 *	sharedfile DIR count SLOT TIMES SYNC BOARD NAME...
 *
 * count adds to its own counter and to the sum in the files, in random order, TIMES times. It
 * checks each read: the sum is that of all counters, and no older than BOARD. BOARD is a plain file
 * in which each process notes its finished additions. With SYNC 0, an addition is finished when it
 * is done. Otherwise, it is finished when it is written. count writes after each SYNC additions and
 * reports this on standard output.
 */
#include "load.h"
#include "sharedfile.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SLOTS = 63, FILES_MAX = 32, BURST = 20 };

struct counters {
	uint64_t sum;
	uint64_t slot[SLOTS];
};

static struct sf_space *space;

static void complain(void *arg, const char *message)
{
	(void)arg;
	fprintf(stderr, "sharedfile: %s\n", message);
}

/* ---- counters ---- */

struct counting {
	struct sf_file *file[FILES_MAX];
	const char *name[FILES_MAX];
	uint64_t mine[FILES_MAX], sum[FILES_MAX], told[FILES_MAX];
	_Atomic uint64_t *board;
	unsigned int n, slot, k; /* k: the number of the current file */
	uint64_t at_least;
};

static int check(const struct counting *c, const struct counters *v, size_t size, const char *how)
{
	uint64_t sum = 0;

	if (size < sizeof(*v)) {
		fprintf(stderr, "%s: no counters (%zu bytes)\n", c->name[c->k], size);
		return -EINVAL;
	}
	for (int i = 0; i < SLOTS; i++)
		sum += v->slot[i];
	if (sum == v->sum && sum >= c->at_least)
		return 0;
	printf("WRONG %s, %s: sum %" PRIu64 ", of counters %" PRIu64 ", at least %" PRIu64 "\n",
	       c->name[c->k], how, v->sum, sum, c->at_least);
	return -EBADMSG;
}

static int look(const void *data, size_t size, void *arg)
{
	return check(arg, data, size, "read");
}

static int add(void *data, size_t size, void *arg)
{
	struct counting *c = arg;
	struct counters *v = data;
	int err = check(c, v, size, "changed");

	if (err)
		return err;
	c->mine[c->k] = ++v->slot[c->slot];
	c->sum[c->k] = ++v->sum;
	return 0;
}

static int look_direct(struct counting *c)
{
	struct counters v;
	ssize_t n = sf_read_direct(c->file[c->k], &v, sizeof(v), 0);

	return n < 0 ? (int)n : check(c, &v, (size_t)n, "read directly");
}

/* Notes additions that others saw, or that are written: no later read may return less. */
static void finished(struct counting *c, unsigned int k)
{
	uint64_t old = atomic_load(&c->board[k]);

	while (old < c->sum[k] && !atomic_compare_exchange_weak(&c->board[k], &old, c->sum[k]))
		;
}

static int sync_all(struct counting *c)
{
	int err = 0;

	for (unsigned int k = 0; k < c->n && !err; k++) {
		if (c->told[k] == c->mine[k])
			continue;
		err = sf_sync(c->file[k]);
		if (err)
			break;
		finished(c, k);
		c->told[k] = c->mine[k];
		printf("synced %s %" PRIu64 "\n", c->name[k], c->mine[k]);
	}
	fflush(stdout);
	return err;
}

static int count_some(struct counting *c, unsigned int *seed, bool finish)
{
	unsigned int what = (unsigned int)rand_r(seed) % 10;
	int err = 0;

	c->k = (unsigned int)rand_r(seed) % c->n;
	c->at_least = atomic_load(&c->board[c->k]);
	if (what < 1)
		return look_direct(c);
	if (what < 3)
		return sf_look(c->file[c->k], look, c);
	for (int i = rand_r(seed) % BURST; i >= 0 && !err; i--) {
		c->at_least = atomic_load(&c->board[c->k]);
		err = sf_change(c->file[c->k], add, c);
		if (!err && finish)
			finished(c, c->k);
	}
	return err;
}

static int map_board(struct counting *c, const char *board)
{
	size_t size = FILES_MAX * sizeof(*c->board);
	int fd = open(board, O_RDWR | O_CREAT | O_CLOEXEC, 0666);

	if (fd < 0 || ftruncate(fd, (off_t)size))
		return -errno;
	c->board = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	return c->board == MAP_FAILED ? -errno : 0;
}

static int count(int argc, char **argv)
{
	static struct counting c;
	unsigned int seed;
	long times, sync;
	int err, closed;

	if (argc < 5 || argc - 4 > FILES_MAX)
		return -EINVAL;
	c.slot = (unsigned int)atoi(argv[0]) % SLOTS;
	seed = c.slot + 1;
	times = atol(argv[1]);
	sync = atol(argv[2]);
	err = map_board(&c, argv[3]);
	for (; !err && (int)c.n < argc - 4; c.n += !err) {
		c.name[c.n] = argv[4 + c.n];
		err = sf_open(space, c.name[c.n], 0, &c.file[c.n]);
	}
	for (long i = 1; i <= times && !err; i++) {
		err = count_some(&c, &seed, !sync);
		if (!err && sync && !(i % sync))
			err = sync_all(&c);
	}
	for (unsigned int k = 0; k < c.n; k++) {
		closed = sf_close(c.file[k]);
		err = err ? err : closed;
		printf("done %s %" PRIu64 "\n", c.name[k], c.mine[k]);
	}
	return err;
}

static int zero(int argc, char **argv)
{
	static const struct counters none;
	struct sf_file *f;
	ssize_t n;
	int err = 0;

	for (int i = 0; i < argc && !err; i++) {
		err = sf_open(space, argv[i], 1, &f);
		if (err)
			break;
		n = sf_write(f, &none, sizeof(none), 0);
		err = sf_close(f);
		err = n < 0 ? (int)n : err;
	}
	return err;
}

static int show(int argc, char **argv)
{
	struct counters v;
	struct sf_file *f;
	ssize_t n;
	int err = 0;

	for (int i = 0; i < argc && !err; i++) {
		err = sf_open(space, argv[i], 0, &f);
		if (err)
			break;
		n = sf_read(f, &v, sizeof(v), 0);
		err = sf_close(f);
		err = n < 0 ? (int)n : n != sizeof(v) ? -EINVAL : err;
		if (err)
			break;
		printf("%s %" PRIu64, argv[i], v.sum);
		for (int k = 0; k < SLOTS; k++)
			printf(" %" PRIu64, v.slot[k]);
		printf("\n");
	}
	return err;
}

/* ---- files ---- */

static int read_file(int argc, char **argv)
{
	static char buf[SF_SIZE_MAX];
	struct sf_file *f;
	ssize_t n;
	int err = argc == 1 ? sf_open(space, argv[0], 0, &f) : -EINVAL;

	if (err)
		return err;
	n = sf_read(f, buf, sizeof(buf), 0);
	err = sf_close(f);
	if (n < 0 || err)
		return n < 0 ? (int)n : err;
	return fwrite(buf, 1, (size_t)n, stdout) == (size_t)n ? 0 : -EIO;
}

static int write_file(int argc, char **argv)
{
	static char buf[SF_SIZE_MAX];
	size_t len = fread(buf, 1, sizeof(buf), stdin);
	struct sf_file *f;
	ssize_t n;
	int err = argc == 1 ? sf_open(space, argv[0], 1, &f) : -EINVAL;

	if (err)
		return err;
	n = sf_write(f, buf, len, 0);
	err = sf_close(f);
	return n < 0 ? (int)n : err;
}

static int unlink_file(int argc, char **argv)
{
	return argc == 1 ? sf_unlink(space, argv[0]) : -EINVAL;
}

static int clean(int argc, char **argv)
{
	(void)argv;
	return argc ? -EINVAL : sf_clean(space);
}

static int hold(int argc, char **argv)
{
	static char buf[SF_SIZE_MAX];
	char line[16];
	struct sf_file *f;
	int err = argc == 1 ? sf_open(space, argv[0], 0, &f) : -EINVAL;

	if (err)
		return err;
	do {
		printf("%zd bytes\n", sf_read(f, buf, sizeof(buf), 0));
		fflush(stdout);
	} while (fgets(line, sizeof(line), stdin));
	return sf_close(f);
}

static int remember(const void *data, size_t size, void *arg)
{
	*(const volatile unsigned char **)arg = data;
	return size ? 0 : -EINVAL;
}

static int stale(int argc, char **argv)
{
	const volatile unsigned char *data;
	char line[16];
	struct sf_file *f;
	int err = argc == 1 ? sf_open(space, argv[0], 0, &f) : -EINVAL;

	if (!err)
		err = sf_look(f, remember, &data);
	if (err)
		return err;
	printf("cached, %d\n", *data); /* a read without the lock that did not trap */
	fflush(stdout);
	if (fgets(line, sizeof(line), stdin))
		printf("old, %d\n", *data);
	return sf_close(f);
}

static volatile sig_atomic_t stop;

static void on_signal(int signal)
{
	(void)signal;
	stop = 1;
}

static int load_files(int argc, char **argv)
{
	const struct sigaction end = {.sa_handler = on_signal};

	if (argc != 2)
		return -EINVAL;
	sigaction(SIGTERM, &end, NULL);
	sigaction(SIGINT, &end, NULL);
	return load(space, (unsigned int)atoi(argv[0]), atof(argv[1]), &stop);
}

static const struct {
	const char *name;
	int (*fn)(int argc, char **argv);
} commands[] = {
    {"read", read_file}, {"write", write_file}, {"unlink", unlink_file}, {"clean", clean},
    {"hold", hold},      {"stale", stale},      {"load", load_files},    {"zero", zero},
    {"show", show},      {"count", count},
};

int main(int argc, char **argv)
{
	size_t i = 0, n = sizeof(commands) / sizeof(commands[0]);
	int err, closed;

	while (argc >= 3 && i < n && strcmp(commands[i].name, argv[2]))
		i++;
	if (argc < 3 || i == n) {
		fprintf(stderr, "usage: sharedfile DIR COMMAND ..., see the head of main.c\n");
		return 2;
	}
	err = sf_space_open(argv[1], complain, &space);
	if (!err) {
		err = commands[i].fn(argc - 3, argv + 3);
		closed = sf_space_close(space);
		err = err ? err : closed;
	}
	if (err)
		fprintf(stderr, "sharedfile: %s: %s\n", argv[2], strerror(-err));
	return err ? 1 : 0;
}
