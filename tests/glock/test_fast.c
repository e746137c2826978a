/* SPDX-License-Identifier: MIT */
/*
 * The fast path: who takes it and who does not, that nothing is lost between it and the queue, and
 * that those who hold a lock by it can be seen. Real threads, on the lock manager of one process;
 * the other nodes' demands are the test's.
 */
#include "check.h"
#include "fast.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 4, GLOCKS = 3 };

static struct glock_space *space;
static struct glock *gls[GLOCKS];
static char message[512];
static int lost_calls;

static void on_log(void *arg, const char *text)
{
	(void)arg;
	snprintf(message, sizeof(message), "%s", text);
}

static void on_lost(struct glock_holder *gh)
{
	(void)gh;
	lost_calls++;
}

static int setup(void **state)
{
	static const struct glock_ops ops = {.size = sizeof(ops), .lost = on_lost};
	const struct glock_type_options type = {
	    .size = sizeof(type), .type = GLOCK_INODE, .ops = &ops, .hold = GLOCK_HOLD_NONE};
	const struct glock_space_options o = {
	    .size = sizeof(o), .types = &type, .n_types = 1, .lockman = "none", .log = on_log};

	(void)state;
	*message = '\0';
	lost_calls = 0;
	assert_int_equal(glock_space_open("fast", &o, &space), 0);
	for (uint64_t i = 0; i < GLOCKS; i++)
		assert_int_equal(glock_get(space, GLOCK_INODE, i, &gls[i]), 0);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	for (int i = 0; i < GLOCKS; i++)
		glock_put(gls[i]);
	assert_int_equal(glock_space_close(space), 0);
	return 0;
}

static bool is_fast(const struct glock_holder *gh)
{
	return gh_state(gh_of(gh)) & GLOCK__H_FAST;
}

static int nq(struct glock_holder *gh, struct glock *gl, enum glock_mode mode, unsigned int flags)
{
	glock_holder_init(gh, gl, mode, flags);
	return glock_nq(gh);
}

/* Now it is cached, and nobody is in the way. */
static void cache(struct glock *gl)
{
	struct glock_holder gh;

	assert_int_equal(nq(&gh, gl, GLOCK_EX, 0), 0);
	assert_int_equal(glock_dq(&gh), 0);
	assert_true(atom_load64(&gl->fast) & GLOCK__FAST_OPEN);
}

static int64_t qcount(struct glock *gl)
{
	struct glock_statistics s = {.size = sizeof(s)};

	assert_int_equal(glock_statistics(gl, &s), 0);
	return s.qcount;
}

static void on_thread(void *(*fn)(void *), void *arg)
{
	pthread_t t;

	assert_int_equal(pthread_create(&t, NULL, fn, arg), 0);
	assert_int_equal(pthread_join(t, NULL), 0);
}

/* What is cached is taken by the word, in either mode, and each time is counted. */
static void fast_when_cached(void **state)
{
	static const unsigned int queue[] = {GLOCK_ANY, GLOCK_EXACT, GLOCK_NODE_SCOPE, GLOCK_NOPID,
					     GLOCK_MOVABLE};
	struct glock_holder a;

	(void)state;
	cache(gls[0]);
	assert_int_equal(nq(&a, gls[0], GLOCK_EX, 0), 0);
	assert_true(is_fast(&a) && glock_valid(&a) && glock_poll(&a));
	assert_int_equal(glock_dq(&a), 0);
	assert_int_equal(glock_dq(&a), -EINVAL);
	assert_int_equal(nq(&a, gls[0], GLOCK_SH, GLOCK_TRY), 0);
	assert_true(is_fast(&a));
	assert_int_equal(glock_dq(&a), 0);
	assert_int_equal(nq(&a, gls[0], GLOCK_SH, GLOCK_ASYNC), 0);
	assert_true(is_fast(&a));
	assert_int_equal(glock_wait(&a, 0, 0), 0);
	assert_int_equal(glock_cancel(&a), -EALREADY);
	assert_int_equal(glock_dq_wait(&a), 0);
	assert_int_equal(qcount(gls[0]), 4);
	for (size_t i = 0; i < ARRAY_SIZE(queue); i++) {
		enum glock_mode mode = queue[i] == GLOCK_ANY ? GLOCK_SH : GLOCK_EX;

		assert_int_equal(nq(&a, gls[0], mode, queue[i]), 0);
		assert_false(is_fast(&a));
		assert_int_equal(glock_dq(&a), 0);
	}
	assert_int_equal(nq(&a, gls[0], GLOCK_DF, 0), 0);
	assert_false(is_fast(&a));
	assert_int_equal(glock_dq(&a), 0);
	assert_int_equal(qcount(gls[0]), 4 + ARRAY_SIZE(queue) + 1);
}

/* So often that the word's counter has to be added up in between. */
static void fast_counts_all(void **state)
{
	const int64_t n = (int64_t)(GLOCK__FAST_FOLD / GLOCK__FAST_COUNT) * 5 / 4;
	struct glock_holder a;

	(void)state;
	cache(gls[0]);
	glock_holder_init(&a, gls[0], GLOCK_SH, 0);
	for (int64_t i = 0; i < n; i++) {
		assert_int_equal(glock_nq(&a), 0);
		assert_int_equal(glock_dq(&a), 0);
	}
	assert_int_equal(qcount(gls[0]), n + 1);
	assert_int_equal(nq(&a, gls[0], GLOCK_SH, 0), 0);
	assert_true(is_fast(&a));
	glock_dq(&a);
}

/* ---- who holds it ---- */

static char dumped[4096];

static void print(void *to, const char *text, size_t len)
{
	(void)to;
	strncat(dumped, text, len);
}

static void *hold_and_dump(void *arg)
{
	struct glock_holder a;

	pthread_setname_np(pthread_self(), "holds-it");
	assert_int_equal(nq(&a, arg, GLOCK_SH, 0), 0);
	assert_true(is_fast(&a));
	*dumped = '\0';
	assert_int_equal(glock_dump(space, GLOCK_FILE_GLOCKS, GLOCK_FORMAT_LINUX_6_1, print, NULL),
			 0);
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
	/* The dump closed the word, and opened it again. */
	assert_true(atom_load64(&gls[1]->fast) & GLOCK__FAST_OPEN);
	glock_dq(&a);
	*dumped = '\0';
	glock_dump(space, GLOCK_FILE_GLOCKS, GLOCK_FORMAT_LINUX_6_1, print, NULL);
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
	/* another owner is another owner */
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

/* ---- whose it is ---- */

static void *let_go(void *gh)
{
	return (void *)(intptr_t)glock_dq(gh);
}

static int let_go_elsewhere(struct glock_holder *gh)
{
	void *ret;
	pthread_t t;

	assert_int_equal(pthread_create(&t, NULL, let_go, gh), 0);
	assert_int_equal(pthread_join(t, &ret), 0);
	return (int)(intptr_t)ret;
}

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
	/* the same by the queue */
	assert_int_equal(nq(&a, gls[0], GLOCK_EX, GLOCK_NODE_SCOPE), 0);
	assert_int_equal(let_go_elsewhere(&a), -EPERM);
	assert_int_equal(glock_dq(&a), 0);
	assert_int_equal(nq(&a, gls[0], GLOCK_EX, GLOCK_MOVABLE), 0);
	assert_int_equal(let_go_elsewhere(&a), 0);
}

static struct glock_holder left[2];

static void *leave_behind(void *arg)
{
	assert_int_equal(nq(&left[0], arg, GLOCK_SH, 0), 0);
	assert_int_equal(nq(&left[1], gls[1], GLOCK_SH, GLOCK_ANY), 0);
	assert_true(is_fast(&left[0]) && !is_fast(&left[1]));
	return NULL;
}

/* A thread that ends does not take its locks along: anybody may let them go. */
static void fast_thread_ended(void **state)
{
	(void)state;
	cache(gls[0]);
	cache(gls[1]);
	on_thread(leave_behind, gls[0]);
	assert_non_null(strstr(message, "has ended and still holds 1"));
	*dumped = '\0';
	glock_dump(space, GLOCK_FILE_GLOCKS, GLOCK_FORMAT_LINUX_6_1, print, NULL);
	assert_non_null(strstr(dumped, "(ended)"));
	assert_int_equal(glock_dq(&left[0]), 0);
	assert_int_equal(glock_dq(&left[1]), 0);
	cache(gls[0]);
}

/* Who holds more than there are slots goes by the queue. */
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
	struct glock_holder a, b;
	int status;
	pid_t pid;

	(void)state;
	cache(gls[0]);
	cache(gls[1]);
	assert_int_equal(nq(&a, gls[0], GLOCK_EX, 0), 0);
	assert_true(is_fast(&a));
	pid = fork();
	if (!pid) {
		glock_holder_init(&b, gls[1], GLOCK_SH, 0);
		_exit(glock_nq(&b) == -ECHILD && glock_dq(&a) == -ECHILD && glock_nq(&b) == -ECHILD
			  ? 0
			  : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_true(glock_valid(&a));
	assert_int_equal(glock_dq(&a), 0);
}

static void fast_withdraw(void **state)
{
	struct glock_holder a, b;

	(void)state;
	cache(gls[0]);
	assert_int_equal(nq(&a, gls[0], GLOCK_EX, 0), 0);
	assert_true(is_fast(&a) && glock_valid(&a));
	glock_withdraw(space);
	assert_false(glock_valid(&a));
	assert_int_equal(lost_calls, 1);
	assert_int_equal(nq(&b, gls[1], GLOCK_SH, 0), -EIO);
	assert_int_equal(glock_dq(&a), 0);
	assert_int_equal(nq(&a, gls[0], GLOCK_EX, 0), -EIO);
}

/* ---- between the word and the queue ---- */

static void demand(struct glock *gl, int dlm_mode)
{
	space->lm->events->bast(&gl->lk, dlm_mode);
}

static void *wait_for_ex(void *arg)
{
	return (void *)(intptr_t)glock_wait(arg, 0, 0);
}

/* Who waits is not overtaken, and gets it from the last one that held it by the word. */
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
	glock_holder_init(&c, gls[0], GLOCK_SH, GLOCK_TRY);
	glock_holder_owner(&c, 2);
	assert_int_equal(glock_nq(&c), -EAGAIN);
	assert_int_equal(pthread_create(&t, NULL, wait_for_ex, &b), 0);
	assert_int_equal(glock_dq(&a), 0);
	assert_int_equal(pthread_join(t, &ret), 0);
	assert_int_equal((int)(intptr_t)ret, 0);
	assert_int_equal(glock_dq(&b), 0);
	cache(gls[0]);
}

/* A demand closes the word; the last holder's leaving is what it waits for. */
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
	assert_int_equal(nq(&b, gls[0], GLOCK_EX, GLOCK_TRY), -EDEADLK);
	assert_int_equal(glock_dq_wait(&a), 0);
	glock_holder_init(&b, gls[0], GLOCK_SH, 0);
	assert_int_equal(glock_nq(&b), 0);
	assert_int_equal(glock_dq(&b), 0);
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
	glock_holder_init(&b, gls[0], GLOCK_SH, GLOCK_TRY);
	glock_holder_owner(&b, 1);
	assert_int_equal(glock_nq(&b), 0);
	assert_int_equal(glock_dq(&b), 0);
	assert_int_equal(glock_dq(&a), 0);
	cache(gls[0]);
}

/* ---- all at once ---- */

static int readers[GLOCKS], writers[GLOCKS];
static long counters[GLOCKS];
static uint32_t stop;
static int64_t queued;

static void use(int i, enum glock_mode mode)
{
	if (mode == GLOCK_EX) {
		assert_int_equal(__atomic_add_fetch(&writers[i], 1, __ATOMIC_RELAXED), 1);
		assert_int_equal(__atomic_load_n(&readers[i], __ATOMIC_RELAXED), 0);
		counters[i]++;
		__atomic_sub_fetch(&writers[i], 1, __ATOMIC_RELAXED);
	} else {
		__atomic_add_fetch(&readers[i], 1, __ATOMIC_RELAXED);
		assert_int_equal(__atomic_load_n(&writers[i], __ATOMIC_RELAXED), 0);
		__atomic_sub_fetch(&readers[i], 1, __ATOMIC_RELAXED);
	}
}

static unsigned int flags_by_chance(unsigned int *seed)
{
	switch (rand_r(seed) % 32) {
	case 0:
		return GLOCK_NOCACHE;
	case 1:
		return GLOCK_EXACT;
	case 2:
		return GLOCK_MOVABLE;
	case 3:
	case 4:
	case 5:
		return GLOCK_TRY;
	default:
		return 0;
	}
}

static void *worker(void *arg)
{
	unsigned int seed = (unsigned int)(uintptr_t)arg;
	int64_t mine = 0;
	long wrote = 0;

	for (int n = 0; n < 20000; n++) {
		int i = rand_r(&seed) % GLOCKS, err;
		enum glock_mode mode = rand_r(&seed) % 4 ? GLOCK_SH : GLOCK_EX;
		unsigned int flags = flags_by_chance(&seed);
		struct glock_holder gh;

		glock_holder_init(&gh, gls[i], mode, flags);
		if (rand_r(&seed) % 16 == 0)
			glock_holder_owner(&gh, 1000 + (uintptr_t)arg);
		err = glock_nq(&gh);
		assert_true(!err || (err == -EAGAIN && flags & GLOCK_TRY));
		/* A try that could not even queue is not counted. */
		if (err)
			continue;
		mine++;
		wrote += mode == GLOCK_EX;
		use(i, mode);
		assert_int_equal(glock_dq(&gh), 0);
	}
	__atomic_add_fetch(&queued, mine, __ATOMIC_RELAXED);
	return (void *)wrote;
}

static void drop_text(void *to, const char *text, size_t len)
{
	(void)to, (void)text, (void)len;
}

/* The other nodes, and those who look. */
static void *disturb(void *arg)
{
	unsigned int seed = 77;

	(void)arg;
	while (!atom_load32(&stop)) {
		switch (rand_r(&seed) % 4) {
		case 0:
			demand(gls[rand_r(&seed) % GLOCKS], GLOCK__EX);
			break;
		case 1:
			demand(gls[rand_r(&seed) % GLOCKS], GLOCK__PR);
			break;
		case 2:
			glock_dump(space, GLOCK_FILE_GLOCKS, GLOCK_FORMAT_LINUX_7_0, drop_text,
				   NULL);
			break;
		case 3:
			glock_dump(space, GLOCK_FILE_SBSTATS, GLOCK_FORMAT_LINUX_7_0, drop_text,
				   NULL);
			break;
		}
		usleep(rand_r(&seed) % 200);
	}
	return NULL;
}

static void fast_under_fire(void **state)
{
	pthread_t t[THREADS], d;
	long wrote = 0, sum = 0;
	int64_t counted = 0;

	(void)state;
	for (int i = 0; i < GLOCKS; i++)
		cache(gls[i]);
	stop = 0;
	queued = 0;
	memset(counters, 0, sizeof(counters));
	assert_int_equal(pthread_create(&d, NULL, disturb, NULL), 0);
	for (intptr_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&t[i], NULL, worker, (void *)(i + 1)), 0);
	for (int i = 0; i < THREADS; i++) {
		void *ret;

		assert_int_equal(pthread_join(t[i], &ret), 0);
		wrote += (long)ret;
	}
	atom_store32(&stop, 1);
	pthread_join(d, NULL);
	for (int i = 0; i < GLOCKS; i++) {
		sum += counters[i];
		counted += qcount(gls[i]) - 1;
	}
	assert_int_equal(sum, wrote);
	/* Those that queued and then failed are counted as well. */
	assert_true(counted >= queued);
	for (int i = 0; i < GLOCKS; i++) {
		cache(gls[i]); /* nobody is left in the word */
		assert_int_equal(
		    atom_load64(&gls[i]->fast) & (GLOCK__FAST_ANY_EX | GLOCK__FAST_ANY_SH), 0);
	}
}

static void *read_on(void *arg)
{
	struct glock_holder gh;
	long fast = 0;

	(void)arg;
	for (int i = 0; i < 20000; i++) {
		assert_int_equal(nq(&gh, gls[0], GLOCK_SH, 0), 0);
		fast += is_fast(&gh);
		assert_int_equal(glock_dq(&gh), 0);
	}
	return (void *)fast;
}

/*
 * Readers that always overlap find their way back to the word after something made them queue: it
 * does not take a moment in which nobody reads.
 */
static void fast_comes_back(void **state)
{
	pthread_t t[THREADS];
	struct glock_holder w;

	(void)state;
	cache(gls[0]);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&t[i], NULL, read_on, NULL), 0);
	for (int i = 0; i < 20; i++) {
		assert_int_equal(nq(&w, gls[0], GLOCK_EX, GLOCK_NODE_SCOPE), 0);
		assert_int_equal(glock_dq(&w), 0);
	}
	for (int i = 0; i < THREADS; i++) {
		void *fast;

		assert_int_equal(pthread_join(t[i], &fast), 0);
		assert_true((long)fast > 1000);
	}
}

#define FAST_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    FAST_TEST(fast_when_cached),
	    FAST_TEST(fast_counts_all),
	    FAST_TEST(fast_holders_in_dumps),
	    FAST_TEST(fast_recursion),
	    FAST_TEST(fast_let_go_by_another),
	    FAST_TEST(fast_thread_ended),
	    FAST_TEST(fast_many_at_once),
	    FAST_TEST(fast_in_two_spaces),
	    FAST_TEST(fast_fork),
	    FAST_TEST(fast_withdraw),
	    FAST_TEST(fast_gives_way),
	    FAST_TEST(fast_demanded),
	    FAST_TEST(fast_downgrade),
	    FAST_TEST(fast_under_fire),
	    FAST_TEST(fast_comes_back),
	};

	return RUN_TESTS(tests);
}
