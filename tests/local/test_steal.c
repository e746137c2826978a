/* SPDX-License-Identifier: MIT */
/*
 * test_steal.c - stops processes inside lock tables, so that others steal the tables.
 *
 * Workers lock, convert, unlock and die. Each of their threads stops its process now and then, at
 * each of the points below. The parent lets the process go on after a random time, or kills it. No
 * two processes hold conflicting modes, no token goes back, and each stolen table is sound.
 *
 * STEAL_SECONDS in the environment makes the run longer.
 */
#include "base/proc.h"
#include "base/sanitizer.h"
#include "checker.h"
#include "inside.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum { SECONDS = GLOCK__TSAN ? 15 : 4, PATIENCE_MS = 60000, LIVES = 6 };

/* ---- points at which a worker stops itself ---- */

/* X(name, how rarely a call stops: once in so many calls) */
#define POINTS(X)                                                                       \
	X(BEFORE_A_STORE, 20000) /* of the undo log, inside an operation */             \
	X(AFTER_A_STORE, 20000)                                                         \
	X(BEFORE_AN_OPERATION, 500)                                                     \
	X(AFTER_AN_OPERATION, 500)                                                      \
	X(AFTER_A_FETCH, 300) /* of an event, before its hint and its token */          \
	X(BEFORE_A_TOKEN, 300)                                                          \
	X(AFTER_A_TOKEN, 300)                                                           \
	X(BEFORE_A_HINT, 500)                                                           \
	X(BEFORE_A_RING, 500) /* in the drop of a table */                              \
	X(AFTER_A_RING, 500)                                                            \
	X(THIEF_LOOKS, 40) /* at its victim, before or after the copy */                \
	X(THIEF_HAS_LOOKED, 40)                                                         \
	X(THIEF_RECOVERS, 40)      /* before the copy is recovered; or after a death */ \
	X(THIEF_HAS_RECOVERED, 40) /* before the copy is made current */                \
	X(VICTIM_LEAVES, 3)        /* before a victim gives up its old place */

enum point {
#define POINT_NUMBER(name, rarely) name,
	POINTS(POINT_NUMBER)
#undef POINT_NUMBER
	    N_POINTS
};

static const struct {
	const char *name;
	unsigned int rarely;
} points[] = {
#define POINT_ENTRY(name, rarely) {#name, rarely},
    POINTS(POINT_ENTRY)
#undef POINT_ENTRY
};

/* Memory of the parent and all workers. */
struct stops {
	_Atomic uint64_t at[N_POINTS];
	_Atomic uint64_t checked; /* tables that were checked after a recovery */
	char wrong[128];
	_Atomic uint32_t quiet; /* no worker stops any more */
};
static struct stops *stops;

static uint32_t dice(uint32_t n)
{
	static _Thread_local uint64_t state;

	if (!state)
		state = (uint64_t)gettid() * 0x9e3779b97f4a7c15ull + (uint64_t)clock();
	state = state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)((state >> 32) * n >> 32);
}

static void point(enum point at)
{
	if (!stops || dice(points[at].rarely) || atomic_load(&stops->quiet))
		return;
	atomic_fetch_add(&stops->at[at], 1);
	syscall(SYS_tgkill, getpid(), gettid(), SIGSTOP);
}

/* ---- the functions around the points; the linker puts these in their place ---- */

#define WRAP(type, name, args, call, before, after) \
	type __real_##name args;                    \
	type __wrap_##name args;                    \
	type __wrap_##name args                     \
	{                                           \
		type ret;                           \
		point(before);                      \
		ret = __real_##name call;           \
		point(after);                       \
		return ret;                         \
	}

#define WRAP_VOID(name, args, call, before, after) \
	void __real_##name args;                   \
	void __wrap_##name args;                   \
	void __wrap_##name args                    \
	{                                          \
		point(before);                     \
		__real_##name call;                \
		point(after);                      \
	}

WRAP_VOID(glock__table_put32, (struct glock__table * t, uint32_t *at, uint32_t value),
	  (t, at, value), BEFORE_A_STORE, AFTER_A_STORE)
WRAP_VOID(glock__table_put8, (struct glock__table * t, uint8_t *at, uint8_t value), (t, at, value),
	  BEFORE_A_STORE, AFTER_A_STORE)
WRAP(int, glock__table_lock,
     (struct glock__table * t, const struct glock__table_request *args,
      struct glock__table_event *event),
     (t, args, event), BEFORE_AN_OPERATION, AFTER_AN_OPERATION)
WRAP(int, glock__table_unlock,
     (struct glock__table * t, uint64_t lkid, uint32_t flags, const void *lvb,
      struct glock__table_event *event),
     (t, lkid, flags, lvb, event), BEFORE_AN_OPERATION, AFTER_AN_OPERATION)
WRAP(int, glock__table_purge, (struct glock__table * t, uint32_t node, uint32_t max),
     (t, node, max), BEFORE_AN_OPERATION, AFTER_AN_OPERATION)
WRAP(int, glock__table_take,
     (struct glock__table * t, uint32_t node, struct glock__table_event *event), (t, node, event),
     BEFORE_AN_OPERATION, AFTER_A_FETCH)
WRAP_VOID(glock__table_give_token, (struct glock__table * t, uint64_t lkid, uint64_t token),
	  (t, lkid, token), BEFORE_A_TOKEN, AFTER_A_TOKEN)
WRAP_VOID(glock__table_held, (struct glock__table * t, uint64_t lkid, bool held), (t, lkid, held),
	  BEFORE_A_HINT, BEFORE_A_HINT)
WRAP_VOID(glock__table_woken, (struct glock__table * t), (t), BEFORE_A_RING, AFTER_A_RING)
WRAP(int, glock__proc_thread, (pid_t pid, pid_t tid, struct glock__proc_thread *thread),
     (pid, tid, thread), THIEF_LOOKS, THIEF_HAS_LOOKED)
WRAP_VOID(glock__local_leave_place, (struct hold * h), (h), VICTIM_LEAVES, VICTIM_LEAVES)

/* Checks each table that was recovered: after a theft, or after a death. */
int __real_glock__table_recover(struct glock__table *t);
int __wrap_glock__table_recover(struct glock__table *t);
int __wrap_glock__table_recover(struct glock__table *t)
{
	const char *wrong;
	int ret;

	point(THIEF_RECOVERS);
	ret = __real_glock__table_recover(t);
	wrong = stops ? glock__table_check(t) : NULL;
	if (wrong)
		snprintf(stops->wrong, sizeof(stops->wrong), "%s", wrong);
	if (stops)
		atomic_fetch_add(&stops->checked, 1);
	point(THIEF_HAS_RECOVERED);
	return ret;
}

/* ---- the parent ---- */

static char checker_path[4096], stops_path[4096];
static struct checker *c;

static struct child {
	pid_t pid;
	unsigned int place;
	int64_t until; /* stopped until then; 0: runs */
} children[WORKERS];
static uint64_t spawned;

static int64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ll + ts.tv_nsec;
}

static struct stops *map_stops(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT, 0600);
	void *at;

	if (fd < 0 || ftruncate(fd, sizeof(struct stops)))
		return NULL;
	at = mmap(NULL, sizeof(struct stops), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	return at == MAP_FAILED ? NULL : at;
}

/* Places that no living worker has. */
static unsigned int next_place(void)
{
	unsigned int at;
	bool used;

	do {
		at = (unsigned int)(spawned++ % (PLACES / THREADS)) * THREADS;
		used = false;
		for (unsigned int i = 0; i < WORKERS; i++)
			used |= children[i].pid && children[i].place == at;
	} while (used);
	return at;
}

static void spawn(struct child *w)
{
	char number[16], seed[32];

	w->pid = 0;
	w->until = 0;
	w->place = next_place();
	for (unsigned int i = 0; i < THREADS; i++) {
		atomic_store(&c->place[w->place + i].claim, 0);
		atomic_store(&c->place[w->place + i].dying, 0);
		atomic_store(&c->place[w->place + i].grants, 0);
	}
	snprintf(number, sizeof(number), "%u", w->place);
	snprintf(seed, sizeof(seed), "%llu", (unsigned long long)spawned);
	w->pid = fork();
	assert_true(w->pid >= 0);
	if (!w->pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		execl("/proc/self/exe", "self", "worker", "steal", checker_path, number, seed,
		      stops_path, (char *)NULL);
		_exit(127);
	}
}

static void replace(struct child *w)
{
	int status;

	for (unsigned int i = 0; i < THREADS; i++)
		atomic_store(&c->place[w->place + i].dying, 1);
	kill(w->pid, SIGKILL);
	assert_int_equal(waitpid(w->pid, &status, 0), w->pid);
	assert_true(WIFSIGNALED(status));
	spawn(w);
}

/* Finds the workers that stopped, and decides on the fate of each. Lets those whose time is over
 * go on. */
static void look_after(struct child *w, uint64_t *killed)
{
	int status;

	while (!w->until && waitpid(w->pid, &status, WUNTRACED | WNOHANG) == w->pid) {
		assert_true(WIFSTOPPED(status));
		w->until = now_ns() + dice(dice(4) ? 1500000 : 8000000);
	}
	if (!w->until || now_ns() < w->until)
		return;
	if (!dice(LIVES)) {
		++*killed;
		replace(w);
		return;
	}
	w->until = 0;
	kill(w->pid, SIGCONT);
}

static uint64_t grants(const struct child *w)
{
	uint64_t n = 0;

	for (unsigned int i = 0; i < THREADS; i++)
		n += atomic_load(&c->place[w->place + i].grants);
	return n;
}

/* Waits until each worker gets one more lock. */
static void all_go_on(uint64_t *killed)
{
	const int64_t last = now_ns() + PATIENCE_MS * 1000000ll;
	uint64_t before[WORKERS];

	atomic_store(&stops->quiet, 1);
	for (int i = 0; i < WORKERS; i++)
		before[i] = grants(&children[i]);
	for (int i = 0; i < WORKERS && !atomic_load(&c->wrong);) {
		pid_t pid = children[i].pid;

		for (int k = 0; k < WORKERS; k++)
			look_after(&children[k], killed);
		if (pid != children[i].pid)
			before[i] = 0;
		if (grants(&children[i]) != before[i]) {
			i++;
			continue;
		}
		usleep(1000);
		if (now_ns() > last)
			fail_msg("worker %d is stuck", i);
	}
}

/*
 * Waits for the end of a worker. A worker that stops late goes on. No worker gets SIGCONT without
 * need, because the search for leaks at its exit stops its threads by ptrace(2). SIGCONT drops a
 * stop that has not happened yet, and the search then never ends.
 */
static void await_end(const struct child *w)
{
	int status;

	if (w->until)
		kill(w->pid, SIGCONT);
	do {
		assert_int_equal(waitpid(w->pid, &status, WUNTRACED), w->pid);
		if (WIFSTOPPED(status))
			kill(w->pid, SIGCONT);
	} while (WIFSTOPPED(status));
	assert_int_equal(status, 0);
}

/* Tells whether no process has stopped at one of the points so far. A sanitizer makes some rare. */
static bool is_untried(void)
{
	for (int i = 0; i < N_POINTS && !GLOCK__TSAN; i++)
		if (!atomic_load(&stops->at[i]))
			return true;
	return false;
}

static void stolen(void **state)
{
	const char *longer = getenv("STEAL_SECONDS");
	const int64_t end = now_ns() + (longer ? atoll(longer) : SECONDS) * 1000000000ll;
	const int64_t last = end + PATIENCE_MS * 1000000ll; /* for points that are rare */
	uint64_t killed = 0, stopped = 0;
	struct inside in;

	(void)state;
	setvbuf(stdout, NULL, _IOLBF, 0); /* for a run that the time limit ends */
	snprintf(checker_path, sizeof(checker_path), "%s/checker", getenv("GLOCK_DIR"));
	snprintf(stops_path, sizeof(stops_path), "%s/stops", getenv("GLOCK_DIR"));
	c = checker_map(checker_path, true);
	stops = map_stops(stops_path);
	assert_true(c && stops);
	for (int i = 0; i < WORKERS; i++)
		spawn(&children[i]);
	while ((now_ns() < end || (is_untried() && now_ns() < last)) && !atomic_load(&c->wrong) &&
	       !*stops->wrong) {
		for (int i = 0; i < WORKERS; i++)
			look_after(&children[i], &killed);
		usleep(100);
	}
	inside_look("steal", &in);
	for (int i = 0; i < N_POINTS; i++) {
		printf("# %-20s %6llu stops\n", points[i].name,
		       (unsigned long long)atomic_load(&stops->at[i]));
		stopped += atomic_load(&stops->at[i]);
	}
	printf("# %llu stops, %u tables stolen, %u taken over from dead processes; %llu stopped "
	       "processes killed; %llu tables checked\n",
	       (unsigned long long)stopped, in.stolen, in.cut_off, (unsigned long long)killed,
	       (unsigned long long)atomic_load(&stops->checked));
	all_go_on(&killed);
	if (*stops->wrong)
		fail_msg("a table is not sound: %s", stops->wrong);
	if (atomic_load(&c->wrong))
		fail_msg("%s", c->what);
	atomic_store(&c->stop, 1);
	for (int i = 0; i < WORKERS; i++)
		await_end(&children[i]);
	assert_true(in.stolen > 0 && killed > 0);
	for (int i = 0; i < N_POINTS && !GLOCK__TSAN; i++)
		if (!atomic_load(&stops->at[i]))
			fail_msg("no process stopped at %s", points[i].name);
	inside_look("steal", &in);
	assert_int_equal(in.nodes, 0);
	assert_int_equal(in.locks, 0);
	assert_null(in.wrong);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(stolen)};

	if (argc == 7 && !strcmp(argv[1], "worker")) {
		stops = map_stops(argv[6]);
		return worker(argv[2], argv[3], (unsigned int)atoi(argv[4]),
			      strtoull(argv[5], NULL, 10));
	}
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
