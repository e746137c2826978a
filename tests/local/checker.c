/* SPDX-License-Identifier: MIT */
/*
 * checker.c - the shared memory of claims, the check of each grant, and the worker process.
 */
#include "checker.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

struct checker *checker_map(const char *path, bool make)
{
	int fd = open(path, O_RDWR | (make ? O_CREAT | O_EXCL : 0), 0600);
	void *at;

	if (fd < 0 || (make && ftruncate(fd, sizeof(struct checker))))
		return NULL;
	at = mmap(NULL, sizeof(struct checker), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	return at == MAP_FAILED ? NULL : at;
}

void checker_fail(struct checker *c, const char *fmt, ...)
{
	va_list ap;

	if (atomic_exchange(&c->wrong, 1))
		return;
	va_start(ap, fmt);
	vsnprintf(c->what, sizeof(c->what), fmt, ap);
	va_end(ap);
	atomic_store(&c->stop, 1);
}

static bool may_stand_beside(unsigned int a, unsigned int b)
{
	return a == b && a != GLOCK_EX;
}

/*
 * A holder died with the lock in EX. The next holder in EX must be told of this, and clears the
 * claim.
 */
static void must_be_told(struct checker *c, _Atomic uint32_t *what, uint32_t claim,
			 const struct glock_holder *gh)
{
	if (!claim || !atomic_compare_exchange_strong(what, &claim, 0))
		return;
	if (!glock_owner_died(gh))
		checker_fail(c, "a holder of %u died in EX, and the next one was not told",
			     claim >> 8 & 0xff);
	else
		atomic_fetch_add(&c->told_of_deaths, 1);
}

void checker_granted(struct checker *c, unsigned int place, struct glock_holder *gh)
{
	unsigned int number = (unsigned int)glock_number(glock_of(gh));
	unsigned int mode = glock_mode_of(gh);
	uint64_t token, before;

	atomic_store(&c->place[place].claim, CLAIM(number, mode));
	atomic_fetch_add(&c->place[place].grants, 1);
	for (unsigned int i = 0; i < PLACES; i++) {
		struct place *other = &c->place[i];
		uint32_t claim = atomic_load(&other->claim);

		if (i == place || !claim || (claim >> 8 & 0xff) != number ||
		    may_stand_beside(claim & 0xff, mode))
			continue;
		if (!atomic_load(&other->dying))
			checker_fail(c, "%u is held in mode %u and in mode %u", number,
				     claim & 0xff, mode);
		else if (mode == GLOCK_EX && (claim & 0xff) == GLOCK_EX)
			must_be_told(c, &other->claim, claim, gh);
	}
	if (mode != GLOCK_EX)
		return;
	if (glock_token(gh, &token)) {
		checker_fail(c, "a lock in EX has no token");
		return;
	}
	before = atomic_load(&c->token[number]);
	if (token < before)
		checker_fail(c, "the token of %u goes back", number);
	atomic_store(&c->token[number], token);
}

void checker_letting_go(struct checker *c, unsigned int place)
{
	atomic_store(&c->place[place].claim, 0);
}

/* ---- a worker ---- */

struct thread {
	pthread_t thread;
	struct checker *c;
	struct glock **gls;
	unsigned int place;
	uint64_t dice;
};

static uint32_t dice(struct thread *t, uint32_t n)
{
	uint64_t z = t->dice += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	z ^= z >> 31;
	return (uint32_t)((z >> 32) * n >> 32);
}

/* The value block and a counter of the checker rise together, unless a holder dies. */
static void use_value(struct thread *t, struct glock_holder *gh)
{
	unsigned int number = (unsigned int)glock_number(glock_of(gh));
	uint64_t value[GLOCK_LVB_SIZE / 8] = {0}, true_value = atomic_load(&t->c->value[number]);
	int err = glock_lvb_read(gh, value);

	/* A killed writer may have changed only one of the two. Then the block is not valid. */
	if (!err && value[0] != true_value)
		checker_fail(t->c, "the value of %u is %llu, not %llu", number,
			     (unsigned long long)value[0], (unsigned long long)true_value);
	if (err && err != -ENODATA)
		checker_fail(t->c, "reading the value: %d", err);
	if (glock_mode_of(gh) != GLOCK_EX)
		return;
	value[0] = true_value + 1;
	atomic_store(&t->c->value[number], value[0]);
	err = glock_lvb_write(gh, value);
	if (err)
		checker_fail(t->c, "writing the value: %d", err);
}

static void one(struct thread *t)
{
	static const enum glock_mode modes[] = {GLOCK_SH, GLOCK_EX, GLOCK_EX, GLOCK_SH};
	static const unsigned int flags[] = {
	    0,           0,           GLOCK_TRY_CACHED, GLOCK_TRY, GLOCK_TRY_1CB,
	    GLOCK_ASYNC, GLOCK_ASYNC, GLOCK_NOCACHE};
	static const struct timespec a_while = {.tv_nsec = 100000};
	struct glock_holder gh = GLOCK_HOLDER_NONE;
	unsigned int flag = flags[dice(t, 8)];
	int err;

	glock_holder_init(&gh, t->gls[dice(t, GLOCKS)], modes[dice(t, 4)], flag);
	err = glock_nq(&gh);
	if (!err && flag == GLOCK_ASYNC) {
		if (!dice(t, 3))
			glock_cancel(&gh);
		err = glock_wait(&gh, 0, 0);
	}
	if (err == -EAGAIN || err == -EBUSY || err == -ECANCELED)
		return;
	if (err) {
		checker_fail(t->c, "nq: %d", err);
		return;
	}
	checker_granted(t->c, t->place, &gh);
	use_value(t, &gh);
	if (!dice(t, 8))
		nanosleep(&a_while, NULL);
	checker_letting_go(t->c, t->place);
	glock_dq(&gh);
}

static void *thread_main(void *arg)
{
	struct thread *t = arg;

	while (!atomic_load(&t->c->stop))
		one(t);
	return NULL;
}

static void on_log(void *arg, const char *message)
{
	(void)arg;
	fprintf(stderr, "# [%d] %s\n", (int)getpid(), message);
}

int worker(const char *space_name, const char *checker_path, unsigned int place, uint64_t seed)
{
	const struct glock_type_options type = {.size = sizeof(type),
						.type = GLOCK_RGRP,
						.flags = GLOCK_OPS_LVB,
						.hold = GLOCK_HOLD_NONE};
	const struct glock_space_options o = {
	    .size = sizeof(o), .types = &type, .n_types = 1, .log = on_log};
	struct checker *c = checker_map(checker_path, false);
	struct glock *gls[GLOCKS];
	struct thread t[THREADS];
	struct glock_space *space;
	unsigned int threads = 1 + seed % THREADS;
	int err;

	if (!c)
		return 1;
	err = glock_space_open(space_name, &o, &space);
	if (err) {
		checker_fail(c, "open: %d", err);
		return 1;
	}
	for (unsigned int i = 0; i < GLOCKS; i++)
		if (glock_get(space, GLOCK_RGRP, i, &gls[i]))
			return 1;
	for (unsigned int i = 0; i < threads; i++) {
		t[i] =
		    (struct thread){.c = c, .gls = gls, .place = place + i, .dice = seed * 77 + i};
		if (pthread_create(&t[i].thread, NULL, thread_main, &t[i]))
			return 1;
	}
	for (unsigned int i = 0; i < threads; i++)
		pthread_join(t[i].thread, NULL);
	for (unsigned int i = 0; i < GLOCKS; i++)
		glock_put(gls[i]);
	err = glock_space_close(space);
	if (err)
		checker_fail(c, "close: %d", err);
	return 0;
}
