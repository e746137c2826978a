/* SPDX-License-Identifier: MIT */
/*
 * members_node.c - a node that uses locks for ever, and a storage that compares tokens.
 *
 * Usage: members_node FILE. test_members.py makes FILE, stops and kills nodes and members of etcd,
 * and reads the counters. The storage has a cell for each lock. A holder shows its token before it
 * reads a cell, and when it writes. A lower token than one that the cell has seen is refused. So a
 * node that was stopped for long writes nothing. If the library says that a refused holder has its
 * lock, two nodes had it.
 */
#include "glock.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum { LOCKS = 4, WORK_NS = 200000, AGAIN_NS = 10000000 };

/* The same order as in test_members.py. A cell has the token in its upper half, then the value. */
static struct file {
	_Atomic uint64_t cell[LOCKS];
	_Atomic uint64_t writes, refused, overlaps, disorder, lost, deaths, no_values;
} * file;

static _Thread_local uint64_t seed = 88172645463325252;

static uint32_t dice(uint32_t sides)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (uint32_t)(seed >> 16) % sides;
}

static void nap(long ns)
{
	const struct timespec ts = {.tv_nsec = ns};

	nanosleep(&ts, NULL);
}

/* The storage refused the token. The lock must be gone by the library's word, too. */
static void refused(struct glock_holder *gh, _Atomic uint64_t *wrong)
{
	atomic_fetch_add(glock_valid(gh) ? wrong : &file->refused, 1);
}

/* Shows the token to the storage, and reads. Returns false if the token is refused. */
static bool fetch(_Atomic uint64_t *cell, uint64_t token, uint64_t *got)
{
	*got = atomic_load(cell);
	do
		if (*got >> 32 > token)
			return false;
	while (!atomic_compare_exchange_weak(cell, got, token << 32 | (uint32_t)*got));
	*got = token << 32 | (uint32_t)*got;
	return true;
}

static void use(struct glock_holder *gh, _Atomic uint64_t *cell)
{
	uint64_t token, got, want, value[GLOCK_LVB_SIZE / 8] = {0};
	int err;

	if (glock_owner_died(gh))
		atomic_fetch_add(&file->deaths, 1);
	if (glock_token(gh, &token))
		return;
	if (!fetch(cell, token, &got)) {
		refused(gh, &file->disorder);
		return;
	}
	err = glock_lvb_read(gh, value);
	if (err)
		atomic_fetch_add(&file->no_values, 1);
	else if (value[0] != (uint32_t)got && glock_valid(gh))
		atomic_fetch_add(&file->lost, 1);
	if (dice(4) == 0)
		nap(dice(WORK_NS));
	want = got;
	if (!atomic_compare_exchange_strong(cell, &want, got + 1)) {
		refused(gh, &file->overlaps);
		return;
	}
	atomic_fetch_add(&file->writes, 1);
	value[0] = (uint32_t)(got + 1);
	glock_lvb_write(gh, value);
}

static struct glock *gl[LOCKS];

/* Uses the locks that this node has cached, so that a node that goes on uses them at once. */
static void *use_cached(void *arg)
{
	struct glock_holder gh;

	for (uint32_t i = 0;; i = (i + 1) % LOCKS) {
		glock_holder_init(&gh, gl[i], GLOCK_EX, GLOCK_TRY_CACHED);
		if (!glock_nq(&gh)) {
			use(&gh, &file->cell[i]);
			glock_dq(&gh);
		}
		nap(WORK_NS);
	}
	return arg;
}

int main(int argc, char **argv)
{
	static const struct glock_type_options type = {.size = sizeof(type),
						       .type = GLOCK_INODE,
						       .flags = GLOCK_OPS_LVB,
						       .hold = GLOCK_HOLD_NONE};
	const struct glock_space_options options = {
	    .size = sizeof(options), .lockman = "etcd", .types = &type, .n_types = 1};
	struct glock_space *space;
	pthread_t thread;
	int fd = argc == 2 ? open(argv[1], O_RDWR | O_CLOEXEC) : -1;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	file = mmap(NULL, sizeof(*file), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	seed *= (uint64_t)getpid();
	if (fd < 0 || file == MAP_FAILED)
		return 2;
	while (glock_space_open("members", &options, &space))
		nap(AGAIN_NS);
	for (uint32_t i = 0; i < LOCKS; i++)
		if (glock_get(space, GLOCK_INODE, i + 1, &gl[i]))
			return 2;
	if (pthread_create(&thread, NULL, use_cached, NULL))
		return 2;
	for (;;) {
		uint32_t i = dice(LOCKS);
		struct glock_holder gh;

		glock_holder_init(&gh, gl[i], GLOCK_EX, dice(4) ? 0 : GLOCK_NOCACHE);
		if (glock_nq(&gh)) {
			nap(AGAIN_NS);
			continue;
		}
		use(&gh, &file->cell[i]);
		glock_dq(&gh);
	}
}
