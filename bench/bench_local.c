/* SPDX-License-Identifier: MIT */
/*
 * bench_local.c - measures locks among the processes of this machine.
 *
 *	bench_local [ROUNDS]	a line a figure: name, ours, unit, peer, limit (tabs; "-": none)
 *
 * Each figure stands beside a peer of the same run. Figures are medians over ROUNDS rounds. In each
 * round libglock and its peers take turns. The limit is for ours / peer, or for ours without a
 * peer.
 *
 * The peer of a hand-over passes on a word, with a futex for each direction.
 */
#include "fairness.h"
#include "processes.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	ROUNDS = 7,
	ROUNDS_MAX = 99,
	LOOPS = 4000,
	OPENS = 20,
};

/* Shared by the processes, beside `together`. */
static struct shared {
	struct word turn[2];
	pthread_mutex_t mutex;
} * sh;

static const char *dir;

/* ---- a cached pair ---- */

static int lock_file(void)
{
	char path[4200];
	int fd;

	snprintf(path, sizeof(path), "%s/file", dir);
	fd = open(path, O_RDWR | O_CREAT, 0600);
	must(fd >= 0, "open");
	return fd;
}

static void ofd(int fd, short type, off_t at)
{
	struct flock fl = {.l_type = type, .l_whence = SEEK_SET, .l_start = at, .l_len = 1};

	must(!fcntl(fd, F_OFD_SETLKW, &fl), "fcntl");
}

static void pairs_of_fcntl(uint32_t i, uint32_t n)
{
	int fd = lock_file();
	double began;

	wait_for_all(n);
	began = now();
	for (int k = 0; k < PAIRS; k++) {
		ofd(fd, F_WRLCK, i);
		ofd(fd, F_UNLCK, i);
	}
	together->took = (now() - began) / PAIRS;
}

static void pairs_of_flock(uint32_t i, uint32_t n)
{
	int fd = lock_file();
	double began;

	(void)i;
	wait_for_all(n);
	began = now();
	for (int k = 0; k < PAIRS; k++)
		must(!flock(fd, LOCK_EX) && !flock(fd, LOCK_UN), "flock");
	together->took = (now() - began) / PAIRS;
}

static void pairs_of_mutex(uint32_t i, uint32_t n)
{
	double began;

	(void)i;
	wait_for_all(n);
	began = now();
	for (int k = 0; k < PAIRS; k++)
		must(!pthread_mutex_lock(&sh->mutex) && !pthread_mutex_unlock(&sh->mutex), "mutex");
	together->took = (now() - began) / PAIRS;
}

/* ---- hand-over ---- */

static uint32_t spins;

static void hand_over_futex(uint32_t i, uint32_t n)
{
	struct word *mine = &sh->turn[i], *other = &sh->turn[!i];

	set(mine, 0);
	wait_for_all(n);
	if (!i)
		together->took = now();
	for (uint32_t k = 0; k < hand_overs; k++) {
		for (uint32_t s = spins; s && (i || k) && !get(mine); s--)
			;
		while ((i || k) && !get(mine))
			syscall(SYS_futex, &mine->value, FUTEX_WAIT, 0, NULL, NULL, 0);
		set(mine, 0);
		set(other, 1);
		syscall(SYS_futex, &other->value, FUTEX_WAKE, 1, NULL, NULL, 0);
	}
	if (i)
		together->took = (now() - together->took) / (2 * hand_overs);
}

/* ---- the loop of ctdb's ping_pong: one lock more than processes, round and round ---- */

static void ping_pong_glock(uint32_t i, uint32_t n)
{
	struct glock_holder gh[4];
	uint32_t at = i;

	open_glocks(200, n + 1);
	glock_holder_init(&gh[at], gl[at], GLOCK_EX, GLOCK_NOCACHE);
	must(!glock_nq(&gh[at]), "glock_nq");
	wait_for_all(n);
	if (!i)
		together->took = now();
	for (int k = 0; k < LOOPS; k++) {
		uint32_t next = (at + 1) % (n + 1);

		glock_holder_init(&gh[next], gl[next], GLOCK_EX, GLOCK_NOCACHE);
		must(!glock_nq(&gh[next]), "glock_nq");
		glock_dq(&gh[at]);
		at = next;
	}
	glock_dq(&gh[at]);
	if (!i)
		together->took = (now() - together->took) / LOOPS / n;
	close_glocks(n + 1);
}

static void ping_pong_fcntl(uint32_t i, uint32_t n)
{
	int fd = lock_file();
	off_t at = i;

	ofd(fd, F_WRLCK, at);
	wait_for_all(n);
	if (!i)
		together->took = now();
	for (int k = 0; k < LOOPS; k++) {
		ofd(fd, F_WRLCK, (at + 1) % (n + 1));
		ofd(fd, F_UNLCK, at);
		at = (at + 1) % (n + 1);
	}
	ofd(fd, F_UNLCK, at);
	if (!i)
		together->took = (now() - together->took) / LOOPS / n;
}

/* ---- open a space and take a first lock ---- */

static void first_locks(uint32_t i, uint32_t n)
{
	double took[OPENS];

	(void)i, (void)n;
	for (int k = 0; k < OPENS; k++) {
		struct glock_holder gh;
		double began = now();

		open_glocks(300, 1);
		glock_holder_init(&gh, gl[0], GLOCK_EX, 0);
		must(!glock_nq(&gh), "glock_nq");
		took[k] = now() - began;
		glock_dq(&gh);
		close_glocks(1);
	}
	together->took = median(took, OPENS);
}

/* ---- the table ---- */

struct figure {
	process_fn *fn;
	uint32_t n;
	const int *cpu;
	uint32_t spins;
	double took[ROUNDS_MAX];
	double cpu_ns[ROUNDS_MAX];
};

int main(int argc, char **argv)
{
	static const int one[] = {0, 0}, two[] = {0, 1};
	struct figure f[] = {
	    {pairs_of_glock, 1, one, 0, {0}, {0}},   {pairs_of_glock, 2, two, 0, {0}, {0}},
	    {pairs_of_fcntl, 1, one, 0, {0}, {0}},   {pairs_of_flock, 1, one, 0, {0}, {0}},
	    {pairs_of_mutex, 1, one, 0, {0}, {0}},   {hand_over_glock, 2, one, 0, {0}, {0}},
	    {hand_over_futex, 2, one, 0, {0}, {0}},  {hand_over_glock, 2, two, 0, {0}, {0}},
	    {hand_over_futex, 2, two, 0, {0}, {0}},  {hand_over_futex, 2, two, 5000, {0}, {0}},
	    {ping_pong_glock, 2, NULL, 0, {0}, {0}}, {ping_pong_fcntl, 2, NULL, 0, {0}, {0}},
	    {first_locks, 1, NULL, 0, {0}, {0}},
	};
	enum { FIGURES = sizeof(f) / sizeof(*f) };
	int rounds = argc > 1 ? atoi(argv[1]) : ROUNDS, cpus = (int)sysconf(_SC_NPROCESSORS_ONLN);
	pthread_mutexattr_t attr;
	double m[FIGURES];

	dir = getenv("GLOCK_DIR");
	must(dir != NULL && rounds > 0 && rounds <= ROUNDS_MAX, "GLOCK_DIR, or the rounds");
	sh = shared(sizeof(*sh));
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(&sh->mutex, &attr);
	for (int r = 0; r < rounds; r++) {
		for (int i = 0; i < FIGURES; i++) {
			if (f[i].cpu == two && cpus < 2)
				f[i].cpu = one;
			spins = f[i].spins;
			f[i].cpu_ns[r] = run(f[i].n, f[i].cpu, f[i].fn) / (2 * hand_overs);
			f[i].took[r] = together->took;
		}
	}
	for (int i = 0; i < FIGURES; i++)
		m[i] = median(f[i].took, rounds);
	printf("a cached pair, beside fcntl (OFD)\t%.1f\tns\t%.1f\t-\n", m[0], m[2]);
	printf("  beside flock\t%.1f\tns\t%.1f\t-\n", m[0], m[3]);
	printf("  beside a robust mutex in shared memory\t%.1f\tns\t%.1f\t-\n", m[0], m[4]);
	printf("  from two processes, beside from one\t%.1f\tns\t%.1f\t-\n", m[1], m[0]);
	printf("a hand-over of EX on one CPU (peer: two futexes)\t%.2f\tus\t%.2f\t1.5\n",
	       m[5] / 1e3, m[6] / 1e3);
	printf("  CPU time of it, both processes\t%.2f\tus\t%.2f\t-\n",
	       median(f[5].cpu_ns, rounds) / 1e3, median(f[6].cpu_ns, rounds) / 1e3);
	printf("a hand-over of EX on two CPUs (peer: two futexes)\t%.2f\tus\t%.2f\t1.5\n",
	       m[7] / 1e3, m[8] / 1e3);
	printf("  the peer spins before it sleeps\t%.2f\tus\t%.2f\t-\n", m[7] / 1e3, m[9] / 1e3);
	printf("ping_pong's loop, a lock (peer: fcntl)\t%.2f\tus\t%.2f\t-\n", m[10] / 1e3,
	       m[11] / 1e3);
	printf("open a space and take a first lock\t%.3f\tms\t-\t1\n", m[12] / 1e6);
	report_fairness();
	return 0;
}
