/* SPDX-License-Identifier: MIT */
/*
 * test_fast.c - tests the fast path: which requests take it, and that the queue loses nothing.
 *
 * Holders on the fast path can be seen. The threads are real, on the lock manager of one process.
 * The test plays the other nodes' basts.
 */
#include "fast_space.h"
#include "glock-choose.h"
#include "glock/state/busy.h"
#include "glock/stats/choice.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

/* A cached mode is taken with the word, for both modes. Each time is counted. */
/* Promises: What a glock is: "A node keeps". */
static void fast_when_cached(void **state)
{
	static const unsigned int queue[] = {GLOCK_ANY, GLOCK_EXACT, GLOCK_NODE_SCOPE};
	struct glock_holder a;

	(void)state;
	cache(gls[0]);
	assert_int_equal(nq(&a, gls[0], GLOCK_EX, 0), 0);
	assert_true(is_fast(&a) && glock_valid(&a) && glock_poll(&a));
	assert_int_equal(glock_dq(&a), 0);
	assert_int_equal(glock_dq(&a), -EINVAL);
	assert_int_equal(nq(&a, gls[0], GLOCK_SH, GLOCK_TRY_CACHED), 0);
	assert_true(is_fast(&a));
	assert_int_equal(glock_dq(&a), 0);
	assert_int_equal(nq(&a, gls[0], GLOCK_SH, GLOCK_ASYNC), 0);
	assert_true(is_fast(&a));
	assert_int_equal(glock_wait(&a, 0, 0), 0);
	assert_int_equal(glock_cancel(&a), -EALREADY);
	assert_int_equal(glock_dq_wait(&a), 0);
	assert_int_equal(nq(&a, gls[0], GLOCK_SH, GLOCK_NOBLOCK), 0);
	assert_true(is_fast(&a));
	assert_int_equal(glock_dq(&a), 0);
	assert_int_equal(qcount(gls[0]), 5);
	for (size_t i = 0; i < ARRAY_SIZE(queue); i++) {
		enum glock_mode mode = queue[i] == GLOCK_ANY ? GLOCK_SH : GLOCK_EX;

		assert_int_equal(nq(&a, gls[0], mode, queue[i]), 0);
		assert_false(is_fast(&a));
		assert_int_equal(glock_dq(&a), 0);
	}
	assert_int_equal(nq(&a, gls[0], GLOCK_DF, 0), 0);
	assert_false(is_fast(&a));
	assert_int_equal(glock_dq(&a), 0);
	assert_int_equal(qcount(gls[0]), 5 + ARRAY_SIZE(queue) + 1);
}

static void counts(struct glock *gl, enum glock_mode mode, int64_t n)
{
	int64_t before = qcount(gl);
	struct glock_holder a;

	glock_holder_init(&a, gl, mode, 0);
	for (int64_t i = 0; i < n; i++) {
		assert_int_equal(glock_nq(&a), 0);
		assert_int_equal(glock_dq(&a), 0);
	}
	assert_int_equal(qcount(gl), before + n);
	assert_int_equal(nq(&a, gl, mode, 0), 0);
	assert_true(is_fast(&a));
	glock_dq(&a);
}

/*
 * Holds so often that the word's counter must be added up in between. The glock becomes biased on
 * the way, and counts in another place. So a first short round counts in the word alone.
 */
static void fast_counts_all(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		enum glock_mode mode = i ? GLOCK_SH : GLOCK_EX;

		cache(gls[i]);
		counts(gls[i], mode, 100);
		counts(gls[i], mode, 45000); /* more than each count has room for */
	}
}

/*
 * Another thread folds the count before a refused holder takes its grant back. The count is below 0
 * then. The next request folds the count again. It does not try for ever.
 */
static void fast_count_below_zero(void **state)
{
	static const enum glock_mode modes[] = {GLOCK_SH, GLOCK_EX};
	struct glock_holder a;

	(void)state;
	cache(gls[0]);
	for (unsigned int i = 0; i < 4; i++) {
		int64_t before = qcount(gls[0]);

		assert_int_equal(nq(&a, gls[0], GLOCK_SH, 0), 0); /* opens the word */
		assert_int_equal(glock_dq(&a), 0);
		atom_sub64(&gls[0]->fast, i % 2 ? GLOCK__FAST_COUNT_EX : GLOCK__FAST_COUNT_SH);
		alarm(60);
		assert_int_equal(nq(&a, gls[0], modes[i % 2], i < 2 ? 0 : GLOCK_NOPID), 0);
		alarm(0);
		assert_int_equal(glock_dq(&a), 0);
		assert_int_equal(qcount(gls[0]), before + 1);
	}
}

/* ---- holders in the dump ---- */

static void *hold_and_dump(void *arg)
{
	struct glock_holder a;

	pthread_setname_np(pthread_self(), "holds-it");
	glock_holder_init(&a, arg, GLOCK_SH, 0);
	assert_int_equal(glock_nq(&a), 0); /* the dump shows this line as the holder's place */
	assert_true(is_fast(&a));
	*dumped = '\0';
	assert_int_equal(
	    glock_dump(space, GLOCK_FILE_GLOCKS, GLOCK_FORMAT_LINUX_6_1, print_dump, NULL), 0);
	assert_true(is_fast(&a));
	snprintf(message, sizeof(message), " H: s:SH f:H e:0 p:%d [holds-it] %s:", (int)gettid(),
		 __FILE__);
	assert_int_equal(glock_dq(&a), 0);
	return NULL;
}

static void fast_holders_in_dumps(void **state)
{
	struct glock_holder a;

	(void)state;
	cache(gls[1]);
	assert_int_equal(nq(&a, gls[1], GLOCK_SH, 0), 0);
	assert_true(is_fast(&a));
	on_thread(hold_and_dump, gls[1]);
	assert_non_null(strstr(dumped, message));
	snprintf(message, sizeof(message), "p:%d [", (int)gettid());
	assert_non_null(strstr(dumped, message));
	/* The dump closed the word and opened it again. */
	assert_true(atom_load64(&gls[1]->fast) & GLOCK__FAST_OPEN);
	glock_dq(&a);
	*dumped = '\0';
	glock_dump(space, GLOCK_FILE_GLOCKS, GLOCK_FORMAT_LINUX_6_1, print_dump, NULL);
	assert_null(strstr(dumped, " H:"));
}

static void fast_recursion(void **state)
{
	struct glock_holder a, b;

	(void)state;
	cache(gls[0]);
	glock_holder_init(&a, gls[0], GLOCK_SH, 0);
	assert_int_equal(glock_nq_at(&a, "first.c:1"), 0);
	assert_true(is_fast(&a));
	glock_holder_init(&b, gls[0], GLOCK_SH, 0);
	assert_int_equal(glock_nq_at(&b, "second.c:2"), -EDEADLK);
	assert_non_null(strstr(message, "first.c:1"));
	assert_non_null(strstr(message, "second.c:2"));
	/* another owner may hold it, too */
	glock_holder_init(&b, gls[0], GLOCK_SH, 0);
	glock_holder_owner(&b, 4711);
	assert_int_equal(glock_nq(&b), 0);
	glock_dq(&b);
	glock_dq(&a);
	/* and from the list to the word */
	assert_int_equal(nq(&a, gls[0], GLOCK_SH, GLOCK_ANY), 0);
	assert_int_equal(nq(&b, gls[0], GLOCK_SH, 0), -EDEADLK);
	glock_dq(&a);
}

/* ---- releases by other threads ---- */

/* Promises: glock_dq: "-EPERM another thread". */
static void fast_let_go_by_another(void **state)
{
	struct glock_holder a;

	(void)state;
	cache(gls[0]);
	glock_holder_init(&a, gls[0], GLOCK_EX, 0);
	assert_int_equal(glock_nq_at(&a, "here.c:3"), 0);
	assert_int_equal(let_go_elsewhere(&a), -EPERM);
	assert_non_null(strstr(message, "here.c:3"));
	assert_true(glock_valid(&a));
	assert_int_equal(glock_dq(&a), 0);
	/* the same through the queue */
	assert_int_equal(nq(&a, gls[0], GLOCK_EX, GLOCK_NODE_SCOPE), 0);
	assert_int_equal(let_go_elsewhere(&a), -EPERM);
	assert_int_equal(glock_dq(&a), 0);
	assert_int_equal(nq(&a, gls[0], GLOCK_EX, GLOCK_NOPID), 0);
	assert_int_equal(let_go_elsewhere(&a), 0);
}

/* ---- ended threads ---- */

static struct glock_holder left[2];

static void *leave_behind(void *arg)
{
	assert_int_equal(nq(&left[0], arg, GLOCK_SH, 0), 0);
	assert_int_equal(nq(&left[1], gls[1], GLOCK_SH, GLOCK_ANY), 0);
	assert_true(is_fast(&left[0]) && !is_fast(&left[1]));
	return NULL;
}

/* A thread that ends leaves its locks. Any thread may drop them. */
/* Promises: glock_dq: "Any thread may". */
static void fast_thread_ended(void **state)
{
	(void)state;
	cache(gls[0]);
	cache(gls[1]);
	on_thread(leave_behind, gls[0]);
	assert_non_null(strstr(message, "has ended and still holds 1"));
	*dumped = '\0';
	glock_dump(space, GLOCK_FILE_GLOCKS, GLOCK_FORMAT_LINUX_6_1, print_dump, NULL);
	assert_non_null(strstr(dumped, "(ended)"));
	assert_int_equal(glock_dq(&left[0]), 0);
	assert_int_equal(glock_dq(&left[1]), 0);
	cache(gls[0]);
}

static pid_t main_thread;

static void *after_main(void *arg)
{
	char path[64], state = 0;
	FILE *stat;

	(void)arg;
	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)main_thread);
	while (state != 'Z') {
		stat = fopen(path, "r");
		if (!stat || fscanf(stat, "%*d (%*[^)]) %c", &state) != 1)
			_exit(2);
		fclose(stat);
	}
	_exit(glock_dq(&left[0]) != 0);
}

/* The kernel lists the main thread as long as another thread exists. */
/* Promises: glock_dq: "Any thread may". */
static void fast_main_thread_ended(void **state)
{
	pid_t pid = fork();
	pthread_t t;
	int status;

	(void)state;
	assert_true(pid >= 0);
	if (!pid) {
		if (fast_setup(NULL) || nq(&left[0], gls[0], GLOCK_SH, GLOCK_ANY) ||
		    is_fast(&left[0]))
			_exit(3);
		main_thread = getpid();
		if (pthread_create(&t, NULL, after_main, NULL))
			_exit(4);
		pthread_exit(NULL);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* A holder beyond the number of slots uses the queue. */
static void fast_many_at_once(void **state)
{
	enum { MANY = 3 * GLOCK__THREAD_SLOTS };
	struct glock_holder ghs[MANY];
	struct glock *many[MANY];
	int fast = 0;

	(void)state;
	for (int i = 0; i < MANY; i++) {
		assert_int_equal(glock_get(space, GLOCK_INODE, 100 + (uint64_t)i, &many[i]), 0);
		cache(many[i]);
	}
	for (int i = 0; i < MANY; i++) {
		assert_int_equal(nq(&ghs[i], many[i], i % 2 ? GLOCK_SH : GLOCK_EX, 0), 0);
		fast += is_fast(&ghs[i]);
	}
	assert_int_equal(fast, GLOCK__THREAD_SLOTS);
	for (int i = 0; i < MANY; i++) {
		struct glock_holder again;

		assert_int_equal(nq(&again, many[i], GLOCK_SH, 0), -EDEADLK);
		assert_int_equal(glock_dq(&ghs[i]), 0);
		glock_put(many[i]);
	}
}

/* ---- two spaces, forks, withdraw ---- */

static void fast_in_two_spaces(void **state)
{
	const struct glock_space_options o = {.size = sizeof(o), .lockman = "none"};
	struct glock_space *other;
	struct glock_holder a, b;
	struct glock *gl;

	(void)state;
	cache(gls[0]);
	assert_int_equal(glock_space_open("other", &o, &other), 0);
	assert_int_equal(glock_get(other, GLOCK_INODE, 0, &gl), 0);
	cache(gl);
	assert_int_equal(nq(&a, gls[0], GLOCK_EX, 0), 0);
	assert_int_equal(nq(&b, gl, GLOCK_EX, 0), 0);
	assert_int_equal(glock_dq(&a), 0);
	assert_int_equal(glock_dq(&b), 0);
	glock_put(gl);
	assert_int_equal(glock_space_close(other), 0);
	cache(gls[0]);
}

static void fast_fork(void **state)
{
	struct glock_holder a, b, c;
	int status;
	pid_t pid;

	(void)state;
	cache(gls[0]);
	cache(gls[1]);
	cache(gls[2]);
	assert_int_equal(nq(&c, gls[2], GLOCK_EX, GLOCK_NOPID), 0);
	assert_true(is_fast(&c));
	assert_int_equal(nq(&a, gls[0], GLOCK_EX, 0), 0);
	assert_true(is_fast(&a));
	pid = fork();
	if (!pid) {
		glock_holder_init(&b, gls[1], GLOCK_SH, 0);
		_exit(glock_nq(&b) == -ECHILD && glock_dq(&a) == -ECHILD &&
			      glock_dq(&c) == -ECHILD && glock_nq(&b) == -ECHILD
			  ? 0
			  : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_true(glock_valid(&a));
	assert_int_equal(glock_dq(&a), 0);
	assert_int_equal(glock_dq(&c), 0);
}

/* The child of a process that used the library. Its thread is another one. */
static int begin_anew(void)
{
	const struct glock_space_options o = {.size = sizeof(o), .lockman = "none"};
	struct glock_holder_info info = {.size = sizeof(info)};
	struct glock_space *other;
	struct glock_holder a;
	struct glock *gl;

	if (glock_space_open("other", &o, &other) || glock_get(other, GLOCK_INODE, 1, &gl) ||
	    nq(&a, gl, GLOCK_EX, 0) || glock_holders(gl, &info, 1) != 1)
		return 1;
	return info.pid != gettid();
}

static void fast_fork_and_open(void **state)
{
	struct glock_holder a;
	int status;
	pid_t pid;

	(void)state;
	assert_int_equal(nq(&a, gls[0], GLOCK_EX, 0), 0);
	pid = fork();
	if (!pid)
		_exit(begin_anew());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(glock_dq(&a), 0);
}

/* The fast path reads no clock. So it does not serve a use whose time is measured. */
static void fast_measured(void **state)
{
	struct glock_forecast f = {.size = sizeof(f)};
	struct glock_holder a;
	int i = 0;

	(void)state;
	cache(gls[0]);
	cache(gls[1]);
	for (int k = 0; k < 2 * GLOCK__USES_KNOWN; k++) {
		i = glock_choose(2, gls, GLOCK_EX, 0);
		assert_in_range(i, 0, 1);
		assert_int_equal(nq(&a, gls[i], GLOCK_EX, 0), 0);
		assert_false(is_fast(&a));
		assert_int_equal(glock_dq(&a), 0);
	}
	assert_int_equal(glock_forecast(gls[i], GLOCK_EX, &f), 0);
	assert_true(f.use >= 0);
}

static int in_sync;

static int asks_in_sync(struct glock *gl, enum glock_mode to, unsigned int sync)
{
	struct glock_holder a;

	(void)to, (void)sync;
	in_sync = nq(&a, gl, GLOCK_SH, GLOCK_TRY_CACHED | GLOCK_NOPID);
	if (!in_sync)
		glock_dq(&a);
	return 0;
}

/* While glock_sync() writes back, the word grants nothing. */
static void fast_in_sync(void **state)
{
	static const struct glock_ops ops = {.size = sizeof(ops), .xmote_th = asks_in_sync};
	static const struct glock_type_options type = {
	    .size = sizeof(type), .type = GLOCK_INODE, .ops = &ops};
	const struct glock_space_options o = {.size = sizeof(o), .types = &type, .n_types = 1};
	struct glock_space *own;
	struct glock_holder a;
	struct glock *gl;

	(void)state;
	assert_int_equal(glock_space_open("written", &o, &own), 0);
	assert_int_equal(glock_get(own, GLOCK_INODE, 1, &gl), 0);
	cache(gl);
	assert_int_equal(nq(&a, gl, GLOCK_EX, 0), 0);
	assert_true(is_fast(&a));
	assert_int_equal(glock_dq(&a), 0);
	assert_int_equal(glock_sync(gl), 0);
	assert_int_equal(in_sync, -EAGAIN);
	glock_put(gl);
	assert_int_equal(glock_space_close(own), 0);
}

static void fast_withdraw(void **state)
{
	struct glock_holder a, b, c;

	(void)state;
	cache(gls[0]);
	assert_int_equal(nq(&a, gls[0], GLOCK_EX, 0), 0);
	assert_true(is_fast(&a) && glock_valid(&a));
	cache(gls[2]);
	assert_int_equal(nq(&c, gls[2], GLOCK_EX, GLOCK_NOPID), 0);
	assert_true(is_fast(&c));
	glock_withdraw(space);
	assert_false(glock_valid(&c));
	assert_false(glock_valid(&a));
	assert_int_equal(lost_calls, 2);
	assert_int_equal(nq(&b, gls[1], GLOCK_SH, 0), -EIO);
	assert_int_equal(glock_dq(&c), 0);
	assert_int_equal(glock_dq(&a), 0);
	assert_int_equal(nq(&a, gls[0], GLOCK_EX, 0), -EIO);
}

/* ---- between the word and the queue ---- */

static void *wait_for_ex(void *arg)
{
	return (void *)(intptr_t)glock_wait(arg, 0, 0);
}

/* No request overtakes a waiter. The last holder by the word hands the lock to the waiter. */
static void fast_gives_way(void **state)
{
	struct glock_holder a, b, c;
	void *ret;
	pthread_t t;

	(void)state;
	cache(gls[0]);
	assert_int_equal(nq(&a, gls[0], GLOCK_SH, 0), 0);
	assert_true(is_fast(&a));
	glock_holder_init(&b, gls[0], GLOCK_EX, GLOCK_ASYNC);
	glock_holder_owner(&b, 1);
	assert_int_equal(glock_nq(&b), 0);
	assert_false(glock_poll(&b));
	glock_holder_init(&c, gls[0], GLOCK_SH, GLOCK_TRY_CACHED);
	glock_holder_owner(&c, 2);
	assert_int_equal(glock_nq(&c), -EAGAIN);
	assert_int_equal(pthread_create(&t, NULL, wait_for_ex, &b), 0);
	assert_int_equal(glock_dq(&a), 0);
	assert_int_equal(pthread_join(t, &ret), 0);
	assert_int_equal((int)(intptr_t)ret, 0);
	assert_int_equal(glock_dq(&b), 0);
	cache(gls[0]);
}

/* A demand closes the word, and waits for the last holder's release. */
/* Promises: Holders are never revoked: "A demand of". */
static void fast_demanded(void **state)
{
	struct glock_holder a, b;

	(void)state;
	cache(gls[0]);
	assert_int_equal(nq(&a, gls[0], GLOCK_EX, 0), 0);
	assert_true(is_fast(&a));
	demand(gls[0], GLOCK__EX);
	assert_false(atom_load64(&gls[0]->fast) & GLOCK__FAST_OPEN);
	assert_int_equal(gls[0]->state, GLOCK_EX);
	assert_int_equal(nq(&b, gls[0], GLOCK_EX, GLOCK_TRY_CACHED), -EDEADLK);
	assert_int_equal(glock_dq_wait(&a), 0);
	glock_holder_init(&b, gls[0], GLOCK_SH, 0);
	assert_int_equal(glock_nq(&b), 0);
	assert_int_equal(glock_dq(&b), 0);
	/* The holder that leaves runs the queue: the glock gives way without another call. */
	cache(gls[1]);
	assert_int_equal(nq(&a, gls[1], GLOCK_EX, 0), 0);
	assert_true(is_fast(&a));
	demand(gls[1], GLOCK__EX);
	for (int i = 0; i < 5000 && glock__work_queued(gls[1]); i++)
		usleep(1000);
	assert_int_equal(glock_dq(&a), 0);
	await_un(gls[1]);
}

static void fast_downgrade(void **state)
{
	struct glock_holder a, b;

	(void)state;
	cache(gls[0]);
	assert_int_equal(nq(&a, gls[0], GLOCK_EX, 0), 0);
	assert_true(is_fast(&a));
	assert_int_equal(glock_downgrade(&a, GLOCK_SH), 0);
	assert_int_equal(glock_mode_of(&a), GLOCK_SH);
	glock_holder_init(&b, gls[0], GLOCK_SH, GLOCK_TRY_CACHED);
	glock_holder_owner(&b, 1);
	assert_int_equal(glock_nq(&b), 0);
	assert_int_equal(glock_dq(&b), 0);
	assert_int_equal(glock_dq(&a), 0);
	cache(gls[0]);
}

/* The lock manager reported the death of a holder in EX. */
static void remember_death(struct glock *gl)
{
	gl_lock(gl);
	gl->flags |= GLOCK__F_DIED;
	gl_unlock(gl);
}

static void *sh_of_another_thread(void *arg)
{
	struct glock_holder a;

	assert_int_equal(nq(&a, arg, GLOCK_SH, 0), 0);
	assert_true(is_fast(&a));
	assert_int_equal(glock_owner_died(&a), 1);
	assert_int_equal(glock_dq(&a), 0);
	return NULL;
}

/* Each holder in SH is told of a death, by the fast path and by the queue. EX goes by the queue. */
static void fast_after_a_death(void **state)
{
	struct glock_holder a, b;

	(void)state;
	cache(gls[0]);
	remember_death(gls[0]);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(nq(&b, gls[0], GLOCK_SH, GLOCK_NOPID | (i ? 0 : GLOCK_RECOVER)),
				 0);
		assert_int_equal(is_fast(&b), i != 0);
		assert_int_equal(glock_owner_died(&b), 1);
		assert_int_equal(nq(&a, gls[0], GLOCK_SH, 0), 0);
		assert_true(is_fast(&a));
		assert_int_equal(glock_owner_died(&a), 1);
		on_thread(sh_of_another_thread, gls[0]);
		assert_int_equal(glock_owner_died(&a), 1);
		assert_int_equal(glock_dq(&a), 0);
		assert_int_equal(glock_dq(&b), 0);
	}
	assert_int_equal(glock_owner_died(&a), 0);
	assert_true(atom_load64(&gls[0]->fast) & GLOCK__FAST_OPEN);
	assert_int_equal(nq(&a, gls[0], GLOCK_EX, 0), 0);
	assert_false(is_fast(&a));
	assert_int_equal(glock_owner_died(&a), 1);
	assert_int_equal(glock_downgrade(&a, GLOCK_SH), 0);
	assert_int_equal(glock_owner_died(&a), 1);
	assert_int_equal(glock_dq(&a), 0);
	for (enum glock_mode mode = GLOCK_EX; mode <= GLOCK_SH; mode += GLOCK_SH - GLOCK_EX) {
		assert_int_equal(nq(&a, gls[0], mode, 0), 0);
		assert_true(is_fast(&a));
		assert_int_equal(glock_owner_died(&a), 0);
		assert_int_equal(glock_dq(&a), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    FAST_TEST(fast_when_cached),
	    FAST_TEST(fast_counts_all),
	    FAST_TEST(fast_count_below_zero),
	    FAST_TEST(fast_holders_in_dumps),
	    FAST_TEST(fast_recursion),
	    FAST_TEST(fast_let_go_by_another),
	    FAST_TEST(fast_thread_ended),
	    cmocka_unit_test(fast_main_thread_ended),
	    FAST_TEST(fast_many_at_once),
	    FAST_TEST(fast_in_two_spaces),
	    FAST_TEST(fast_fork),
	    FAST_TEST(fast_fork_and_open),
	    FAST_TEST(fast_measured),
	    FAST_TEST(fast_in_sync),
	    FAST_TEST(fast_withdraw),
	    FAST_TEST(fast_gives_way),
	    FAST_TEST(fast_demanded),
	    FAST_TEST(fast_downgrade),
	    FAST_TEST(fast_after_a_death),
	};

	return RUN_TESTS(tests);
}
