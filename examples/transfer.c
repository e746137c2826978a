/* SPDX-License-Identifier: MIT */
/*
 * transfer.c - takes several locks at once, in any order, without a deadlock.
 *
 *	cc transfer.c $(pkg-config --cflags --libs glock) -pthread -o transfer
 *	./transfer TIMES
 *
 * Four threads move money between eight accounts, each transfer under the locks of both. A thread
 * asks for both locks at once and waits for both. If that takes too long, there may be a deadlock.
 * Then glock_async_wait() has dropped both, and the thread asks again. (glock_nq_m() would take
 * them one after the other, in the order of their numbers, and could not deadlock.)
 */
#include <errno.h>
#include <glock.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ACCOUNTS = 8, THREADS = 4, EACH = 1000 };

static struct glock *locks[ACCOUNTS];
static long money[ACCOUNTS];
static long times;

static int transfer(unsigned int from, unsigned int to, long amount)
{
	struct glock_holder gh[2];
	unsigned int retries = 0;
	int err;

	do {
		glock_holder_init(&gh[0], locks[from], GLOCK_EX, GLOCK_ASYNC);
		glock_holder_init(&gh[1], locks[to], GLOCK_EX, GLOCK_ASYNC);
		err = glock_nq(&gh[0]);
		if (err)
			return err;
		err = glock_nq(&gh[1]);
		if (err) {
			glock_dq(&gh[0]);
			return err;
		}
		err = glock_async_wait(2, gh, retries++);
	} while (err == -ESTALE);
	if (err)
		return err; /* none is held */
	money[from] -= amount;
	money[to] += amount;
	glock_dq_m(2, gh);
	return 0;
}

static void *work(void *arg)
{
	unsigned int seed = *(unsigned int *)arg, from, to;
	int err = 0;

	for (long i = 0; i < times && !err; i++) {
		from = (unsigned int)rand_r(&seed) % ACCOUNTS;
		to = (from + 1 + (unsigned int)rand_r(&seed) % (ACCOUNTS - 1)) % ACCOUNTS;
		err = transfer(from, to, rand_r(&seed) % 100);
	}
	if (err)
		fprintf(stderr, "transfer: %s\n", strerror(-err));
	return (void *)(intptr_t)err;
}

int main(int argc, char **argv)
{
	struct glock_space *space;
	pthread_t threads[THREADS];
	unsigned int seeds[THREADS];
	int n = 0, failed = 0;
	long sum = 0;
	void *err;

	times = argc > 1 ? atol(argv[1]) : 1000;
	if (glock_space_open("transfer", NULL, &space))
		return 1;
	for (unsigned int i = 0; i < ACCOUNTS; i++) {
		money[i] = EACH;
		if (glock_get(space, GLOCK_INODE, i, &locks[i]))
			return 1;
	}
	for (; n < THREADS; n++) {
		seeds[n] = (unsigned int)n + 1;
		if (pthread_create(&threads[n], NULL, work, &seeds[n]))
			break;
	}
	failed = n < THREADS;
	while (n--) {
		pthread_join(threads[n], &err);
		failed |= err != NULL;
	}
	for (unsigned int i = 0; i < ACCOUNTS; i++) {
		sum += money[i];
		glock_put(locks[i]);
	}
	if (glock_space_close(space))
		failed = 1;
	printf("%d accounts hold %ld\n", ACCOUNTS, sum);
	return failed || sum != (long)ACCOUNTS * EACH;
}
