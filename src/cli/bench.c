/* SPDX-License-Identifier: MIT */
/*
 * bench.c - glock bench: the cost of a lock on this machine, beside the cost of other locks.
 *
 * The peers take turns in short rounds, so that other load of the machine hits a few rounds of
 * each. The median of the rounds counts.
 */
#include "cli.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROUNDS = 501, PEERS = 4, BATCH = 64 };

static struct {
	struct glock_space *space;
	struct glock *gl;
	struct glock_holder shared, exclusive;
	pthread_mutex_t mutex;
	int fd;
} b = {.mutex = PTHREAD_MUTEX_INITIALIZER, .fd = -1};

/* As with a mutex, the initialization does not count. A holder may be used again and again. */
static int pair(struct glock_holder *gh)
{
	int err = glock_nq(gh);

	return err ? err : glock_dq(gh);
}

static int shared(void)
{
	return pair(&b.shared);
}

static int exclusive(void)
{
	return pair(&b.exclusive);
}

static int mutex(void)
{
	return pthread_mutex_lock(&b.mutex) || pthread_mutex_unlock(&b.mutex) ? -EINVAL : 0;
}

static int file_lock(void)
{
	struct flock fl = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};

	if (fcntl(b.fd, F_OFD_SETLK, &fl))
		return -errno;
	fl.l_type = F_UNLCK;
	return fcntl(b.fd, F_OFD_SETLK, &fl) ? -errno : 0;
}

static const struct {
	const char *name;
	int (*once)(void);
} peers[PEERS] = {
    {"glock shared, cached", shared},
    {"glock exclusive, cached", exclusive},
    {"mutex of one process", mutex},
    {"fcntl lock on a file", file_lock},
};

/* Returns the ns of one pair, measured for that time, or negative errno. */
static double measure(int (*once)(void), int64_t ns)
{
	int64_t start = glock__clock(), now;
	unsigned long n = 0;
	int err = 0;

	do {
		for (int i = 0; i < BATCH && !err; i++)
			err = once();
		n += BATCH;
		now = glock__clock();
	} while (!err && now - start < ns);
	return err ? err : (double)(now - start) / (double)n;
}

static int ascending(const void *a, const void *c)
{
	double x = *(const double *)a, y = *(const double *)c;

	return (x > y) - (x < y);
}

static int measure_all(int64_t ns)
{
	static double times[PEERS][ROUNDS];

	for (int round = 0; round < ROUNDS; round++) {
		for (int i = 0; i < PEERS; i++) {
			times[i][round] = measure(peers[i].once, ns / (ROUNDS * PEERS));
			if (times[i][round] >= 0)
				continue;
			complain("%s: %s", peers[i].name, strerror(-(int)times[i][round]));
			return EX_OSERR;
		}
	}
	printf("%-26s %10s %8s\n", "lock and unlock", "ns", "ratio");
	for (int i = 0; i < PEERS; i++)
		qsort(times[i], ROUNDS, sizeof(double), ascending);
	for (int i = 0; i < PEERS; i++)
		printf("%-26s %10.1f %8.2f\n", peers[i].name, times[i][ROUNDS / 2],
		       times[i][ROUNDS / 2] / times[2][ROUNDS / 2]);
	return EX_OK;
}

static int bench_set_up(const char *space, const char *lockman)
{
	char path[] = "/tmp/glock-bench-XXXXXX";
	int err, status = open_space(space, lockman, NULL, 0, NULL, 0, &b.space);

	if (status)
		return status;
	/* A plain lock: a thread may take a lock of type flock twice, and that costs more. */
	err = glock_get(b.space, GLOCK_NONDISK, name_hash("glock bench"), &b.gl);
	if (err) {
		complain("%s: %s", space, strerror(-err));
		return EX_OSERR;
	}
	glock_holder_init(&b.shared, b.gl, GLOCK_SH, 0);
	glock_holder_init(&b.exclusive, b.gl, GLOCK_EX, 0);
	b.fd = mkostemp(path, O_CLOEXEC);
	if (b.fd < 0) {
		complain("%s: %s", path, strerror(errno));
		return EX_CANTCREAT;
	}
	unlink(path);
	return EX_OK;
}

static void tear_down(void)
{
	if (b.fd >= 0)
		close(b.fd);
	if (b.gl)
		glock_put(b.gl);
	if (b.space)
		glock_space_close(b.space);
}

static const struct option longs[] = {
    {"time", required_argument, NULL, 't'},
    {"lockman", required_argument, NULL, 'l'},
    {"help", no_argument, NULL, 'h'},
    {0},
};

static int bench_run(int argc, char **argv)
{
	const char *lockman = NULL;
	int64_t ns = 2000000000;
	int option, status;

	while ((option = next_option(argc, argv, ":t:h", longs)) != -1) {
		if (option == 'l')
			lockman = optarg;
		else if (option == 't' && (!parse_seconds(optarg, &ns) || !ns))
			return usage_error("-t needs a number of seconds above 0, not %s", optarg);
		else if (option != 't')
			return option == 'h' ? EX_OK : EX_USAGE;
	}
	if (argc - optind > 1)
		return usage_error("%s: too many arguments; give one SPACE at most",
				   argv[optind + 1]);
	status = bench_set_up(optind < argc ? argv[optind] : "glock-bench", lockman);
	if (!status)
		status = measure_all(ns);
	tear_down();
	return status;
}

const struct command cmd_bench = {
    .name = "bench",
    .usage = "[OPTION]... [SPACE]",
    .what = "Measures the time of a lock here, and of a mutex and a file lock.",
    .help = "  -t, --time SEC      measure for SEC seconds in all (default: 2)\n"
	    "      --lockman NAME  none, local, dlm or etcd (default: $GLOCK_LOCKMAN, or local)\n"
	    "\n"
	    "Prints the time in ns to lock and unlock, and its ratio to the time of a mutex. Each "
	    "time\n"
	    "is the median of 501 rounds. Without SPACE, the space is glock-bench.\n"
	    "\n"
	    "Exit status, as in sysexits.h: 0 done; 64 usage; 71 the system failed; 73 the space\n"
	    "cannot be made; 74 output.\n",
    .run = bench_run,
};
