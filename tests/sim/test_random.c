/* SPDX-License-Identifier: MIT */
/*
 * test_random.c - runs random schedules, each from its seed.
 *
 *   test_sim_random events [N [SEED]]    N schedules of events, from that seed on. With "60s" as N:
 *                                        schedules for 60 s of CPU time, so that a busy machine
 *                                        changes nothing
 *   test_sim_random threads [N [SEED]]   of threads that are interrupted at the library's atomics
 *   test_sim_random soak SECONDS [SEED]  of both, from a fresh seed, for SECONDS
 *
 * A failing seed is printed, with the command that replays it. Events must cover everything: every
 * reply in every state, with every sort of bast, except for the impossible ones.
 */
#include "glock/core/internal.h"

#include "world.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Steps of a schedule. */
enum { EVENTS = 300, THREADS = 1500 };

/* With fewer schedules, an empty cell means nothing. Of more, one in so many has each cell. */
enum { ENOUGH = 10000, ONE_IN = 1000 };

/* Impossible cells, which must be empty. */
static const struct impossible {
	enum glock_mode state;
	enum world_reply reply;
	const char *why;
} impossible[] = {
    {GLOCK_UN, DEADLOCK, "a lock at NL is in nobody's way"},
    {GLOCK_EX, TRY_AGAIN, "from EX it only goes down, and that is granted at once"},
    {GLOCK_EX, DEADLOCK, "the same"},
    {GLOCK_EX, CANCELED, "the same"},
};

/*
 * A try at UN asks nothing while this node has to give the glock up. So these cells, with a demote,
 * count only demands that come while the try is on its way. A demote that waits at UN came during a
 * request, too, because UN on the way to another mode meets earlier demands. Few such requests end
 * without a grant.
 */
static bool is_rare(unsigned int state, unsigned int reply, int demote)
{
	if (state != GLOCK_UN)
		return false;
	return reply == TRY_AGAIN ? demote : demote == 1 && (reply == CANCELED || reply == FAILED);
}

static struct world w;
static volatile unsigned long current;
static const char *volatile what;
static const char *program;

static void print_replay(void)
{
	fprintf(stderr, "# again: %s %s 1 %lu\n", program, what, current);
}

/* Handles a failed assertion of the library, a crash, or a hang. No other code runs any more. */
static void on_signal(int sig)
{
	print_replay();
	signal(sig, SIG_DFL);
	raise(sig);
}

static bool one(const char *kind, unsigned long seed, unsigned long *steps, unsigned long *grants)
{
	bool threads = !strcmp(kind, "threads");

	what = kind;
	current = seed;
	world_open_seed(&w, seed, threads);
	if (world_run(&w, threads ? THREADS : EVENTS))
		world_settle(&w);
	world_close(&w);
	*steps += w.steps;
	*grants += w.grants;
	if (!*w.trouble)
		return true;
	printf("# seed %lu, step %lu: %s\n", seed, w.steps, w.trouble);
	print_replay();
	return false;
}

/* ---- counts ---- */

static const char *why_not(unsigned int state, unsigned int reply)
{
	for (size_t i = 0; i < sizeof(impossible) / sizeof(impossible[0]); i++)
		if (impossible[i].state == state && impossible[i].reply == reply)
			return impossible[i].why;
	return NULL;
}

/* Checks that each possible cell has so many counts, and each impossible one none. */
static bool report(unsigned long enough)
{
	static const char *const replies[] = {"granted", "try again", "deadlock", "canceled",
					      "failed"};
	unsigned long least = (unsigned long)-1;
	bool ok = true;

	printf(
	    "# replies by state of the glock: with no demote, one that waits, one that is due\n");
	for (unsigned int s = 0; s < GLOCK_MODE_MAX; s++) {
		for (unsigned int r = 0; r < WORLD_REPLY_MAX; r++) {
			const unsigned long *n = world_seen[s][r];
			const char *why = why_not(s, r);

			printf("# %s %-9s %9lu %9lu %9lu%s%s\n", glock__modes[s].name, replies[r],
			       n[0], n[1], n[2], why ? "  cannot be: " : "", why ? why : "");
			for (int d = 0; d < 3; d++) {
				if (!why && !is_rare(s, r, d) && n[d] < least)
					least = n[d];
				ok &= !why || !n[d];
			}
		}
	}
	printf("# least of what can be: %lu\n", least);
	return ok && least >= enough;
}

/* ---- runs ---- */

static double seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* Runs n schedules, or as many as fit in `limit` seconds of CPU time. */
static bool run(const char *kind, unsigned long n, double limit, unsigned long first)
{
	unsigned long steps = 0, grants = 0, fast = 0, passed = 0, passed_fresh = 0, workers = 0;
	double began = seconds();
	unsigned long done = 0;
	bool ok = true;

	for (; ok && (limit > 0 ? seconds() - began < limit : done < n); done++) {
		ok = one(kind, first + done, &steps, &grants);
		fast += w.fast_grants;
		workers += w.workers;
		passed = w.passed > passed ? w.passed : passed;
		passed_fresh = w.passed_fresh > passed_fresh ? w.passed_fresh : passed_fresh;
	}
	printf("# %lu schedules of %s, %lu steps, %lu grants (%lu without the queue), %.1f s\n",
	       done, kind, steps, grants, fast, seconds() - began);
	printf("# %lu times another worker was started\n", workers);
	printf("# most grants to others while a request waited at the master: %lu; a lock's first: "
	       "%lu\n",
	       passed, passed_fresh);
	if (ok && !report(!strcmp(kind, "events") && done >= ENOUGH ? done / ONE_IN : 0)) {
		printf("# not enough of something, or what cannot be\n");
		ok = false;
	}
	return ok;
}

static bool soak(double how_long, unsigned long first)
{
	unsigned long n = 0, steps = 0, grants = 0;
	time_t end = time(NULL) + (time_t)how_long;

	printf("# from seed %lu on\n", first);
	for (; time(NULL) < end; n++)
		if (!one(n % 2 ? "threads" : "events", first + n, &steps, &grants))
			return false;
	printf("# %lu schedules, %lu steps, %lu grants, nothing found; least by state and reply "
	       "below\n",
	       n, steps, grants);
	return report(0);
}

static unsigned long number(const char *s, unsigned long otherwise)
{
	return s ? strtoul(s, NULL, 10) : otherwise;
}

/*
 * If a node is killed, its simulated threads leave their memory behind, as a process does. Here no
 * kernel frees it. Only dumps may have such memory.
 */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
	return "leak:glock_dump\n";
}

int main(int argc, char **argv)
{
	const char *kind = argc > 1 ? argv[1] : "events";
	const char *work = argc > 2 ? argv[2] : "1000";
	unsigned long n = number(work, 0);
	const char *seed = argc > 3 ? argv[3] : NULL;
	bool ok;

	program = argv[0];
	setvbuf(stdout, NULL, _IOLBF, 0);
	signal(SIGABRT, on_signal);
	signal(SIGTERM, on_signal);
	printf("1..1\n");
	if (!strcmp(kind, "soak"))
		ok = soak((double)n, number(seed, (unsigned long)time(NULL) * 1000000));
	else
		ok = run(kind, n, work[strcspn(work, "s")] ? (double)n : 0, number(seed, 1));
	printf("%sok 1 - %s\n", ok ? "" : "not ", kind);
	return !ok;
}
