/* SPDX-License-Identifier: MIT */
/*
 * fairness.c - measures how equally and how fast processes get a lock that all of them want.
 *
 * 2, 4 and 8 processes ask for one lock in EX, in three ways:
 *
 *	100 us each	each process works so long under the lock, and queues its next request
 *			before the release: all processes want the lock at every moment
 *	no work		the same without work
 *	bare loop	no work, and each process asks again after its release. A process that the
 *			kernel stops in between does not want the lock. A lone process finds the
 *			lock cached, many times in the time of one hand-over. The kernel chooses
 *			the CPUs; in the other two ways the program assigns them in turn
 *
 * In a turn, the lock comes from another process. Waits are those of turns, because cached grants
 * would make them look short. A hand-over begins at the release, or at the next holder's request if
 * that is later. It ends at the grant. So it contains neither work nor a time without a request.
 *
 * The measured lock protects the data that the holder writes in `sh` and `together`.
 */
#include "fairness.h"
#include "processes.h"

#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	PROCESSES = 8,
	LIMITED_S = 10, /* the length of a measurement with a limit */
	OTHERS_S = 2,
	/* before and after, so that all processes want the lock while it counts */
	MORE_MS = 200,
	WAITS = 1 << 20,  /* of each process, for percentiles */
	OTHERS = 64,      /* turns of others in a wait; the last place means so many or more */
	WORK_NS = 100000, /* as in the benchmark of several machines */
};

/* The result of one process. */
struct tally {
	uint64_t taken;
	uint64_t turns;
	uint64_t others[OTHERS]; /* waits with so many turns of others */
	uint32_t others_at_most;
	double handed_over; /* ns, of all turns */
	uint32_t wait_ns[WAITS];
};

static struct shared {
	struct word turn[PROCESSES];
	double from, until; /* grants in this time count */
	double let_go;
	struct tally of[PROCESSES];
} * sh;

static double work_ns; /* under the lock */

/* A request. */
struct asked {
	double at;
	uint32_t changes;
};

static struct asked ask(void)
{
	return (struct asked){now(), get(&together->changes)};
}

static void count(struct tally *t, struct asked asked, double got, bool turn, uint32_t others)
{
	double wait = got - asked.at;

	t->taken++;
	if (!turn)
		return;
	if (t->turns < WAITS)
		t->wait_ns[t->turns] = wait < 4e9 ? (uint32_t)wait : UINT32_MAX;
	t->turns++;
	t->handed_over += got - (sh->let_go > asked.at ? sh->let_go : asked.at);
	t->others[others < OTHERS ? others : OTHERS - 1]++;
	if (others > t->others_at_most)
		t->others_at_most = others;
}

/* Runs after a grant to process i: counts it and works. Tells whether the process goes on. */
static bool work(uint32_t i, struct asked asked)
{
	double got = now();
	bool turn = get(&together->last) != i;
	uint32_t changes = has_it(i);

	if (got >= sh->from && got < sh->until)
		count(&sh->of[i], asked, got, turn, changes - asked.changes - 1);
	while (work_ns && now() < got + work_ns)
		;
	return got < sh->until + MORE_MS * 1e6;
}

static void ask_again(uint32_t i, uint32_t n)
{
	struct glock_holder gh;
	bool more = true;

	open_glocks(400, 1);
	wait_for_all(n);
	while (more) {
		struct asked asked = ask();

		glock_holder_init(&gh, gl[0], GLOCK_EX, 0);
		must(!glock_nq(&gh), "glock_nq");
		more = work(i, asked);
		sh->let_go = now();
		glock_dq(&gh);
	}
	close_glocks(1);
}

static void ask_ahead(uint32_t i, uint32_t n)
{
	struct asked asked, next;
	struct ahead ahead;
	bool more = true;

	open_glocks(400, 1);
	wait_for_all(n);
	for (next = ask(), ahead_begin(&ahead); more; ahead_let_go(&ahead)) {
		ahead_wait(&ahead);
		asked = next;
		more = work(i, asked);
		next = ask();
		ahead_ask(&ahead);
		sh->let_go = now();
	}
	ahead_end(&ahead);
	close_glocks(1);
}

static void pass_on(struct word *next)
{
	set(next, 1);
	syscall(SYS_futex, &next->value, FUTEX_WAKE, 1, NULL, NULL, 0);
}

/* The peer: the processes pass a word round. This is the best case of first come, first served. */
static void ring(uint32_t i, uint32_t n)
{
	struct word *mine = &sh->turn[i], *next = &sh->turn[(i + 1) % n];
	struct asked asked;

	set(mine, !i);
	wait_for_all(n);
	asked = ask();
	while (!get(&together->stop)) {
		while (!get(mine) && !get(&together->stop))
			syscall(SYS_futex, &mine->value, FUTEX_WAIT, 0, NULL, NULL, 0);
		if (!work(i, asked))
			set(&together->stop, 1);
		set(mine, get(&together->stop));
		asked = ask();
		sh->let_go = now();
		pass_on(next);
	}
	/* A process may see only the stop and pass nothing on, while its successor sleeps. */
	pass_on(next);
}

/* ---- figures ---- */

struct fairness {
	double unequal;                  /* most by least, in locks taken */
	double cached;                   /* the share of locks that came from no other process */
	double wait;                     /* 99 % are at most this; ns */
	double bound;                    /* 2(n-1)(hold + hand-over) */
	uint32_t others, others_at_most; /* in 99 % of waits, and in all */
};

static int by_value(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static const struct way {
	const char *name;
	process_fn *fn;
	double work_ns;
	bool limited; /* measured for LIMITED_S, on CPUs in turn, beside a ring */
} ways[] = {
    {"100 us each", ask_ahead, WORK_NS, true},
    {"no work", ask_ahead, 0, true},
    {"bare loop", ask_again, 0, false},
};

/* Returns the turns of others in the i'th wait. The waits are sorted, the best first. */
static uint32_t others_in(const uint64_t others[OTHERS], uint64_t i)
{
	uint64_t before = 0;
	uint32_t n = 0;

	while (n < OTHERS - 1 && (before += others[n]) <= i)
		n++;
	return n;
}

static void run_it(uint32_t n, process_fn *fn, const struct way *w, int seconds)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	int cpu[PROCESSES];

	for (int i = 0; i < PROCESSES; i++)
		cpu[i] = (int)(i % cpus);
	memset(sh, 0, sizeof(*sh));
	work_ns = w->work_ns;
	sh->from = now() + MORE_MS * 1e6;
	sh->until = sh->from + seconds * 1e9;
	run(n, w->limited ? cpu : NULL, fn);
}

static struct fairness measure(uint32_t n, process_fn *fn, const struct way *w, int seconds)
{
	static uint32_t all[PROCESSES * WAITS];
	uint64_t least = UINT64_MAX, most = 0, taken = 0, turns = 0, waits = 0,
		 others[OTHERS] = {0};
	struct fairness f = {0};
	double handed_over = 0;

	run_it(n, fn, w, seconds);
	for (uint32_t i = 0; i < n; i++) {
		const struct tally *t = &sh->of[i];
		uint64_t noted = t->turns < WAITS ? t->turns : WAITS;

		least = t->taken < least ? t->taken : least;
		most = t->taken > most ? t->taken : most;
		taken += t->taken;
		turns += t->turns;
		handed_over += t->handed_over;
		if (t->others_at_most > f.others_at_most)
			f.others_at_most = t->others_at_most;
		for (uint32_t o = 0; o < OTHERS; o++)
			others[o] += t->others[o];
		memcpy(all + waits, t->wait_ns, noted * sizeof(*all));
		waits += noted;
	}
	must(waits > 0, "nobody had a turn");
	qsort(all, waits, sizeof(*all), by_value);
	f.unequal = (double)most / (double)(least ? least : 1);
	f.cached = 1 - (double)turns / (double)taken;
	f.wait = all[waits * 99 / 100];
	f.others = others_in(others, turns * 99 / 100);
	f.bound = 2 * (n - 1) * (work_ns + handed_over / (double)turns);
	return f;
}

static void report(const struct way *w, uint32_t n)
{
	struct fairness f = measure(n, w->fn, w, w->limited ? LIMITED_S : OTHERS_S), r;

	printf("fairness, %u processes, %s: luckiest by unluckiest\t%.3f\t-\t-\t%s\n", n, w->name,
	       f.unequal, w->limited ? "1.2" : "-");
	printf("waits, %u processes, %s: 99 %%, by 2(n-1) turns\t%.1f\tus\t%.1f\t%s\n", n, w->name,
	       f.wait / 1e3, f.bound / 1e3, w->limited ? "1" : "-");
	if (!w->limited) {
		printf("  found cached, of all taken\t%.1f\t%%\t-\t-\n", 100 * f.cached);
		return;
	}
	r = measure(n, ring, w, OTHERS_S);
	printf("  the same of a ring of futexes, by its own\t%.1f\tus\t%.1f\t-\n", r.wait / 1e3,
	       r.bound / 1e3);
	printf("waits, %u processes, %s: 99 %%, in turns of others\t%u\tturns\t%u\t1\n", n, w->name,
	       f.others, 2 * (n - 1));
	printf("  turns of others in one wait, at most\t%u\t-\t-\t-\n", f.others_at_most);
}

void report_fairness(void)
{
	sh = shared(sizeof(*sh));
	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++)
		for (uint32_t n = 2; n <= PROCESSES; n *= 2)
			report(&ways[i], n);
}
