/* SPDX-License-Identifier: MIT */
/*
 * test_mix.c - processes with a cache are killed, stopped, frozen, and made to withdraw, while some
 * of their threads are realtime, and others are cancelled.
 *
 *   test_local_mix               a short run
 *   test_local_mix soak SECONDS  a long one
 *
 * The history of a page is a number that each change raises. A node reads the number when it gets
 * the lock. It writes its own number back, if the page still has the number that it read. So a
 * change that was overwritten shows, and so does a page that was read too late. The memory of
 * claims shows modes that conflict: see checker.h.
 */
#include "freezer.h"
#include "workers.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum { WITHDRAW = SIGUSR1, CANCEL = SIGUSR2, SHORT_RUN = 150, EACH = 100, LOOK_NS = 5000000 };

/* ---- a worker ---- */

static struct glock *gls[GLOCKS];
static unsigned int first_place;
static unsigned int realtime; /* the thread that is realtime; THREADS: none */
/* The process withdraws between claims, so that no claim comes after that. */
static pthread_rwlock_t between = PTHREAD_RWLOCK_INITIALIZER;

static struct page {
	uint64_t read, now; /* the number on the disk, and with the changes of this node */
} pages[GLOCKS];

static struct page *page_of(const struct glock *gl)
{
	return &pages[glock_number(gl)];
}

static uint32_t dice(uint32_t n)
{
	static _Thread_local unsigned int seed;

	if (!seed)
		seed = (unsigned int)gettid();
	return (uint32_t)rand_r(&seed) % n;
}

static int read_page(struct glock_holder *gh)
{
	struct page *p = page_of(glock_of(gh));

	p->read = p->now = atomic_load(&c->disk[glock_number(glock_of(gh))]);
	return 0;
}

static int write_page(struct glock *gl, enum glock_mode to, unsigned int sync)
{
	struct page *p = page_of(gl);
	uint64_t was = p->read;

	(void)to;
	if (!(sync & GLOCK_CACHES_DATA) || p->now == p->read)
		return 0;
	pause_us(dice(4) ? dice(50) : dice(3000));
	if (!atomic_compare_exchange_strong(&c->disk[glock_number(gl)], &was, p->now))
		checker_fail(c, "page %u has %llu, and this node read %llu and writes %llu",
			     (unsigned int)glock_number(gl), (unsigned long long)was,
			     (unsigned long long)p->read, (unsigned long long)p->now);
	p->read = p->now;
	return 0;
}

/* The page is the disk's, unless it was changed here. Not if the node has withdrawn. */
static void use_page(const struct glock_holder *gh)
{
	const unsigned int number = (unsigned int)glock_number(glock_of(gh));
	struct page *p = page_of(glock_of(gh));
	uint64_t disk = atomic_load(&c->disk[number]);

	if (disk != p->read && glock_valid(gh))
		checker_fail(c, "page %u has %llu, and a holder in mode %d sees %llu", number,
			     (unsigned long long)disk, glock_mode_of(gh),
			     (unsigned long long)p->read);
	if (glock_mode_of(gh) == GLOCK_EX)
		p->now++;
}

struct use {
	struct glock_holder gh;
	unsigned int place;
};

/* Also if the thread was cancelled. */
static void ends_use(void *use)
{
	struct use *u = use;

	checker_letting_go(c, u->place);
	glock_dq(&u->gh);
}

static void has_lock(struct use *u)
{
	bool claimed;

	pthread_cleanup_push(ends_use, u);
	pthread_rwlock_rdlock(&between);
	claimed = !atomic_load(&c->place[first_place].dying);
	if (claimed) {
		checker_granted(c, u->place, &u->gh);
		use_page(&u->gh);
	}
	pthread_rwlock_unlock(&between);
	if (claimed && !dice(8))
		pause_us(100); /* a thread may be cancelled here */
	pthread_cleanup_pop(1);
}

static bool use_one(unsigned int place)
{
	static const unsigned int flags[] = {
	    0,           0,           GLOCK_TRY_CACHED, GLOCK_TRY, GLOCK_TRY_1CB,
	    GLOCK_ASYNC, GLOCK_ASYNC, GLOCK_NOCACHE};
	const unsigned int flag = flags[dice(8)];
	struct use u = {.place = place};
	int err;

	glock_holder_init(&u.gh, gls[dice(GLOCKS)], dice(2) ? GLOCK_SH : GLOCK_EX, flag);
	err = glock_nq(&u.gh);
	if (!err && flag == GLOCK_ASYNC) {
		if (!dice(3))
			glock_cancel(&u.gh);
		err = glock_wait(&u.gh, 0, 0);
	}
	if (!err)
		has_lock(&u);
	else if (err != -EAGAIN && err != -EBUSY && err != -ECANCELED && err != -EIO)
		checker_fail(c, "nq: %d", err);
	return err != -EIO;
}

static void *uses_locks(void *index)
{
	const unsigned int i = (unsigned int)(uintptr_t)index;
	const struct sched_param p = {.sched_priority = 1};

	if (i == realtime)
		sched_setscheduler(0, SCHED_FIFO, &p);
	while (!atomic_load(&c->stop) && use_one(first_place + i))
		if (i == realtime)
			pause_us(200);
	return NULL;
}

static void start_thread(pthread_t *threads, unsigned int i)
{
	if (pthread_create(&threads[i], NULL, uses_locks, (void *)(uintptr_t)i))
		checker_fail(c, "a thread does not start");
}

static void withdraw(struct glock_space *space)
{
	pthread_rwlock_wrlock(&between);
	for (unsigned int i = 0; i < THREADS; i++)
		atomic_store(&c->place[first_place + i].dying, 1);
	pthread_rwlock_unlock(&between);
	glock_withdraw(space);
}

/* Does what the signals say, until all threads have ended or are to end. */
static void serve(struct glock_space *space, pthread_t *threads, const sigset_t *signals)
{
	const struct timespec look = {.tv_nsec = LOOK_NS};

	while (!atomic_load(&c->stop)) {
		const int signal = sigtimedwait(signals, NULL, &look);
		const unsigned int i = dice(THREADS);

		if (signal == WITHDRAW) {
			withdraw(space);
			return;
		}
		if (signal == CANCEL) {
			pthread_cancel(threads[i]);
			pthread_join(threads[i], NULL);
			start_thread(threads, i);
		}
	}
}

static void on_log(void *arg, const char *message)
{
	(void)arg;
	if (!strstr(message, "has withdrawn"))
		fprintf(stderr, "# [%d] %s\n", (int)getpid(), message);
}

static int work(const char *name, const char *checker_path, unsigned int place, unsigned int seed)
{
	const struct glock_ops ops = {
	    .size = sizeof(ops), .xmote_th = write_page, .instantiate = read_page};
	const struct glock_type_options type = {
	    .size = sizeof(type), .type = GLOCK_INODE, .ops = &ops};
	const struct glock_space_options o = {
	    .size = sizeof(o), .types = &type, .n_types = 1, .log = on_log};
	struct glock_space *space;
	pthread_t threads[THREADS];
	sigset_t signals;
	int err;

	c = checker_map(checker_path, false);
	if (!c || glock_space_open(name, &o, &space))
		return 1;
	first_place = place;
	realtime = seed % 4 ? THREADS : 0;
	sigemptyset(&signals); /* both are blocked already */
	sigaddset(&signals, WITHDRAW);
	sigaddset(&signals, CANCEL);
	for (unsigned int i = 0; i < GLOCKS; i++)
		if (glock_get(space, GLOCK_INODE, i, &gls[i]))
			return 1;
	for (unsigned int i = 0; i < THREADS; i++)
		start_thread(threads, i);
	serve(space, threads, &signals);
	for (unsigned int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (unsigned int i = 0; i < GLOCKS; i++)
		glock_put(gls[i]);
	err = glock_space_close(space);
	if (err)
		checker_fail(c, "close: %d", err);
	return 0;
}

/* ---- the harm ---- */

static struct freezer freezers[FREEZERS];
static size_t n_freezers;
static unsigned int counts[5];

static void kill_one(unsigned int victim)
{
	kill_worker(victim);
	spawn(victim);
}

static void stop_one(unsigned int victim)
{
	kill(workers[victim], SIGSTOP);
	pause_us((unsigned int)random() % 20000);
	kill(workers[victim], SIGCONT);
}

static void freeze_one(unsigned int victim)
{
	const struct freezer *f = n_freezers ? &freezers[(size_t)random() % n_freezers] : NULL;

	if (!f || !freezer_add(f, workers[victim]) || !freezer_freeze(f, true))
		return;
	pause_us((unsigned int)random() % 20000);
	freezer_freeze(f, false);
}

static void withdraw_one(unsigned int victim)
{
	int status;

	kill(workers[victim], WITHDRAW);
	assert_int_equal(waitpid(workers[victim], &status, 0), workers[victim]);
	assert_int_equal(status, 0);
	spawn(victim);
}

static void cancel_one(unsigned int victim)
{
	kill(workers[victim], CANCEL);
}

static void mix(unsigned int least, time_t until)
{
	static void (*const harm[])(unsigned int) = {kill_one, stop_one, freeze_one, withdraw_one,
						     cancel_one};

	begin("mix");
	for (unsigned int i = 0; (i < least || time(NULL) < until) && !atomic_load(&c->wrong);
	     i++) {
		const unsigned int victim = (unsigned int)random() % WORKERS, which = i % 5;

		pause_us((unsigned int)random() % 3000);
		if (i % 2)
			gets_one(victim, 0);
		if (i % 4 == 3)
			has_one_in_ex(victim);
		harm[which](victim);
		counts[which]++;
		if (i % EACH == EACH - 1)
			all_go_on();
	}
	check();
	printf("# %u killed, %u stopped, %u frozen (%zu freezers), %u withdrew, %u cancelled; %llu "
	       "times the next holder was told of a death; %llu changes on disk\n",
	       counts[0], counts[1], counts[2], n_freezers, counts[3], counts[4],
	       (unsigned long long)atomic_load(&c->told_of_deaths),
	       (unsigned long long)atomic_load(&c->disk[0]));
	assert_true(atomic_load(&c->told_of_deaths) > 0 && atomic_load(&c->disk[0]) > 0);
	end();
}

static unsigned int least = SHORT_RUN;
static time_t until;

static void no_change_is_lost(void **state)
{
	(void)state;
	mix(least, until);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(no_change_is_lost)};
	int guarded, failed;
	sigset_t signals;
	pid_t guard;

	if (argc == 6 && !strcmp(argv[1], "worker"))
		return work(argv[2], argv[3], (unsigned int)atoi(argv[4]),
			    (unsigned int)atoi(argv[5]));
	if (argc == 3 && !strcmp(argv[1], "soak"))
		until = time(NULL) + atoi(argv[2]);
	sigemptyset(&signals); /* workers inherit that */
	sigaddset(&signals, WITHDRAW);
	sigaddset(&signals, CANCEL);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	n_freezers = freezers_make(freezers);
	guard = freezers_guard(freezers, n_freezers, &guarded);
	srandom((unsigned int)time(NULL));
	cmocka_set_message_output(CM_OUTPUT_TAP);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	for (unsigned int i = 0; failed && i < WORKERS; i++)
		kill(workers[i], SIGKILL);
	close(guarded);
	waitpid(guard, NULL, 0);
	return failed;
}
