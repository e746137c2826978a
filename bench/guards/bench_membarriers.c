/* SPDX-License-Identifier: MIT */
/*
 * bench_membarriers.c - counts the membarriers that processes need while they hand locks over.
 *
 *	bench_membarriers [ROUNDS]
 *
 * Each load runs without a bias, with the default, and with a bias from the first use on. That is
 * the environment variable GLOCK_BIAS_AFTER. The lines are medians over ROUNDS rounds of a second:
 * uses, hand-overs and membarriers a second of all processes. A membarrier is a call of syscall(2)
 * by the library, and this program stands in between. GLOCK_DIR names a folder for the space.
 */
#include "../../tests/own_syscall.h"
#include "../processes.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { ROUNDS = 5, ROUNDS_MAX = 99, SECOND = 1000000, READERS = 4, LOCKS = 64, BURST = 20000 };

/* ---- counting ---- */

static struct counts {
	uint64_t uses, hand_overs, membarriers;
	struct word owner[LOCKS]; /* the process that had the lock last, and 1 */
} * all;                          /* shared by the processes */

static uint64_t membarriers;

static void before_syscall(long number)
{
	if (number == SYS_membarrier)
		__atomic_add_fetch(&membarriers, 1, __ATOMIC_RELAXED);
}

/* ---- what the threads of a process do ---- */

static struct glock *locks[LOCKS];
static bool stop; /* an atom */
static uint32_t me;

static bool goes_on(void)
{
	return !__atomic_load_n(&stop, __ATOMIC_RELAXED);
}

/* In EX: notes which process has the lock. */
static void has_lock(unsigned int number)
{
	if (get(&all->owner[number]) == me + 1)
		return;
	set(&all->owner[number], me + 1);
	__atomic_add_fetch(&all->hand_overs, 1, __ATOMIC_RELAXED);
}

static void use(struct glock_holder *gh, unsigned int number, enum glock_mode mode)
{
	glock_holder_init(gh, locks[number], mode, 0);
	must(!glock_nq(gh), "glock_nq");
	if (mode == GLOCK_EX)
		has_lock(number);
	must(!glock_dq(gh), "glock_dq");
}

static uint64_t write_all_the_time(void)
{
	struct glock_holder gh;
	uint64_t uses = 0;

	for (; goes_on(); uses++)
		use(&gh, 0, GLOCK_EX);
	return uses;
}

static uint64_t write_in_bursts(void)
{
	struct glock_holder gh;
	uint64_t uses = 0;

	for (unsigned int dice = me + 1; goes_on(); uses += BURST) {
		unsigned int number = (unsigned int)rand_r(&dice) % LOCKS;

		for (int i = 0; i < BURST; i++)
			use(&gh, number, GLOCK_EX);
	}
	return uses;
}

/* Each use takes the lock from the readers. */
static uint64_t write_each_ms(void)
{
	struct glock_holder gh;
	uint64_t uses = 0;

	for (; goes_on(); uses++) {
		usleep(1000);
		use(&gh, 0, GLOCK_EX);
	}
	__atomic_add_fetch(&all->hand_overs, uses, __ATOMIC_RELAXED);
	return uses;
}

static uint64_t read_all_the_time(void)
{
	struct glock_holder gh;
	uint64_t uses = 0;

	for (; goes_on(); uses++)
		use(&gh, 0, GLOCK_SH);
	return uses;
}

/* Queues each request before the release before it, as in a queue of jobs. Nothing is biased. */
static uint64_t ask_ahead(void)
{
	struct ahead a;
	uint64_t uses = 0;

	gl[0] = locks[0];
	for (ahead_begin(&a); goes_on(); ahead_let_go(&a), uses++) {
		ahead_wait(&a);
		has_lock(0);
		ahead_ask(&a);
	}
	ahead_end(&a);
	return uses;
}

/* ---- loads ---- */

typedef uint64_t thread_fn(void);

static const struct load {
	const char *name;
	thread_fn *first, *second; /* the threads of process 0 and of process 1 */
	unsigned int threads;      /* of process 0 */
	int64_t hold;
} loads[] = {
    {"2 processes, requests queue ahead", ask_ahead, ask_ahead, 1, GLOCK_HOLD_NONE},
    {"2 processes in EX, no hold time", write_all_the_time, write_all_the_time, 1, GLOCK_HOLD_NONE},
    {"2 processes in EX", write_all_the_time, write_all_the_time, 1, 0},
    {"2 processes of 2 threads in EX, 64 locks", write_in_bursts, write_in_bursts, 2, 0},
    {"4 readers, a writer each ms", read_all_the_time, write_each_ms, READERS, 0},
};
enum { LOADS = sizeof(loads) / sizeof(*loads) };

static const struct load *load;

static void *run_thread(void *fn)
{
	uint64_t uses = (*(thread_fn **)fn)();

	__atomic_add_fetch(&all->uses, uses, __ATOMIC_RELAXED);
	return NULL;
}

static void run_process(uint32_t i, uint32_t n)
{
	const struct glock_type_options type = {
	    .size = sizeof(type), .type = GLOCK_NONDISK, .hold = load->hold};
	const struct glock_space_options o = {
	    .size = sizeof(o), .types = &type, .n_types = 1, .lockman = "local"};
	thread_fn *fn = i ? load->second : load->first;
	unsigned int threads = i && load->first != load->second ? 1 : load->threads;
	pthread_t t[READERS];
	struct glock_space *space;

	me = i;
	must(!glock_space_open("bench", &o, &space), "glock_space_open");
	for (unsigned int k = 0; k < LOCKS; k++)
		must(!glock_get(space, GLOCK_NONDISK, k, &locks[k]), "glock_get");
	membarriers = 0;
	wait_for_all(n);
	for (unsigned int k = 0; k < threads; k++)
		must(!pthread_create(&t[k], NULL, run_thread, &fn), "pthread_create");
	usleep(SECOND);
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	for (unsigned int k = 0; k < threads; k++)
		pthread_join(t[k], NULL);
	__atomic_add_fetch(&all->membarriers, membarriers, __ATOMIC_RELAXED);
	_exit(0); /* the other process may still hold the lock */
}

static void print_load(const char *bias_after, const char *bias, int rounds)
{
	double uses[ROUNDS_MAX], hand_overs[ROUNDS_MAX], fences[ROUNDS_MAX];

	if (bias_after)
		setenv("GLOCK_BIAS_AFTER", bias_after, 1);
	else
		unsetenv("GLOCK_BIAS_AFTER");
	for (int r = 0; r < rounds; r++) {
		*all = (struct counts){0};
		run(2, NULL, run_process);
		uses[r] = (double)all->uses;
		hand_overs[r] = (double)all->hand_overs;
		fences[r] = (double)all->membarriers;
	}
	printf("%-42s %-10s %12.0f %12.0f %12.0f\n", load->name, bias, median(uses, rounds),
	       median(hand_overs, rounds), median(fences, rounds));
	fflush(stdout);
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : ROUNDS;

	must(rounds > 0 && rounds <= ROUNDS_MAX, "the rounds");
	all = shared(sizeof(*all));
	printf("%-42s %-10s %12s %12s %12s\n", "a second, all processes", "bias", "uses",
	       "hand-overs", "membarriers");
	for (load = loads; load < loads + LOADS; load++) {
		print_load("0", "none", rounds);
		print_load(NULL, "default", rounds);
		print_load("1", "first use", rounds);
	}
	return 0;
}
