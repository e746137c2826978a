/* SPDX-License-Identifier: MIT */
/*
 * test_fast_threads.c - tests the fast path with many threads while other threads withdraw it.
 *
 * Other threads also demand the glocks and look at them. No thread gets in beside a writer, and
 * each holder is counted exactly once.
 */
#include "glock-choose.h"

#include "fast_space.h"
#include "glock/state/demote.h"
#include "guarded.h"

static struct guarded guarded[GLOCKS];
static uint32_t stop;
static int64_t queued;

static unsigned int flags_by_chance(unsigned int *seed)
{
	switch (rand_r(seed) % 32) {
	case 0:
		return GLOCK_NOCACHE;
	case 1:
		return GLOCK_EXACT;
	case 2:
		return GLOCK_NOPID;
	case 3:
	case 4:
	case 5:
		return GLOCK_TRY_CACHED;
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
		assert_true(!err || (err == -EAGAIN && flags & GLOCK_TRY_CACHED));
		/* A try that could not even queue is not counted. */
		if (err)
			continue;
		mine++;
		wrote += mode == GLOCK_EX;
		guarded_use(&guarded[i], mode);
		assert_int_equal(glock_dq(&gh), 0);
	}
	__atomic_add_fetch(&queued, mine, __ATOMIC_RELAXED);
	return (void *)wrote;
}

static void drop_text(void *to, const char *text, size_t len)
{
	(void)to, (void)text, (void)len;
}

/* Plays the other nodes, and reads dumps. */
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
	memset(guarded, 0, sizeof(guarded));
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
		sum += guarded[i].counter;
		counted += qcount(gls[i]) - 1;
	}
	assert_int_equal(sum, wrote);
	/* Requests that queued and then failed are counted as well. */
	assert_true(counted >= queued);
	for (int i = 0; i < GLOCKS; i++) {
		cache(gls[i]);
		gl_lock(gls[i]); /* no holder is left in the word */
		glock__fast_close(gls[i]);
		assert_int_equal(glock__fast_mode(gls[i]), GLOCK_UN);
		gl_unlock(gls[i]);
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
 * Readers that always overlap return to the word after an event made them queue. This needs no
 * moment without a reader.
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

/* Gets one of the first n glocks of the list, as an allocator does. Returns its index. */
static int get_any(struct glock_holder *gh, int n, struct glock *const *list)
{
	for (;;) {
		int i = glock_choose((size_t)n, list, GLOCK_EX, GLOCK_CHOOSE_TRY);
		unsigned int flags = i == -EAGAIN ? 0 : GLOCK_TRY;

		if (i == -EAGAIN)
			i = glock_choose((size_t)n, list, GLOCK_EX, 0);
		assert_true(i >= 0 && i < n);
		glock_holder_init(gh, list[i], GLOCK_EX, flags);
		if (!glock_nq(gh))
			return i;
	}
}

/* Each thread has a list of its own, of one glock or more. */
static void *chooser(void *arg)
{
	struct glock *list[GLOCKS];
	int length = 1 + (int)(uintptr_t)arg % GLOCKS;
	const time_t begun = time(NULL);

	memcpy(list, gls, sizeof(list));
	for (int n = 0; n < 5000 && !enough_after(begun); n++) {
		struct glock_forecast f = {.size = sizeof(f)};
		struct glock_holder gh;
		int i = get_any(&gh, length, list);

		guarded_use(&guarded[i], GLOCK_EX);
		assert_int_equal(glock_dq(&gh), 0);
		assert_int_equal(glock_forecast(gls[n % GLOCKS], GLOCK_EX, &f), 0);
		assert_true(glock_congested(gls[n % GLOCKS]) <= 1);
	}
	return NULL;
}

/* Threads choose, while a thread plays the other nodes. */
/* Promises: glock_choose: "Any number of". */
static void choose_threads(void **state)
{
	pthread_t t[THREADS], other;

	(void)state;
	atom_store32(&stop, 0);
	assert_int_equal(pthread_create(&other, NULL, disturb, NULL), 0);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&t[i], NULL, chooser, (void *)(uintptr_t)i), 0);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_join(t[i], NULL), 0);
	atom_store32(&stop, 1);
	assert_int_equal(pthread_join(other, NULL), 0);
}

/* ---- the place of a thread's slots ---- */

enum { PLACED = 400, PAGE_SIZE = 4096 };
static pthread_barrier_t placed;
static unsigned int collisions; /* an atom */

/* The hash of an address by which caches of Zen to Zen 4 predict the way of its line. */
static unsigned int hash_of(const char *at)
{
	static const int pairs[][2] = {{12, 27}, {13, 26}, {14, 25}, {15, 20},
				       {16, 21}, {17, 22}, {18, 23}, {19, 24}};
	unsigned int hash = 0;

	for (int i = 0; i < 8; i++)
		hash =
		    hash * 2 + (((uintptr_t)at >> pairs[i][0] ^ (uintptr_t)at >> pairs[i][1]) & 1);
	return hash;
}

static void *has_slots(void *arg)
{
	struct glock_holder gh;
	const struct glock__tls *tls = glock__tls();

	assert_int_equal(nq(&gh, gls[0], GLOCK_SH, 0), 0);
	assert_int_equal(glock_dq(&gh), 0);
	for (int page = -1; page <= 2; page++)
		if (hash_of((const char *)tls->fast.thread) ==
		    hash_of((const char *)__builtin_frame_address(0) + page * PAGE_SIZE))
			__atomic_add_fetch(&collisions, 1, __ATOMIC_RELAXED);
	if (hash_of((const char *)tls->fast.thread) == hash_of((const char *)tls))
		__atomic_add_fetch(&collisions, 1, __ATOMIC_RELAXED);
	pthread_barrier_wait(&placed);
	return arg;
}

/* A thread's slots lose no cache lines to its stack, where holders are, because of their hash. */
static void fast_slots_beside_the_stack(void **state)
{
	pthread_t t[PLACED];

	(void)state;
	cache(gls[0]);
	pthread_barrier_init(&placed, NULL, PLACED);
	for (int i = 0; i < PLACED; i++)
		assert_int_equal(pthread_create(&t[i], NULL, has_slots, NULL), 0);
	for (int i = 0; i < PLACED; i++)
		pthread_join(t[i], NULL);
	pthread_barrier_destroy(&placed);
	assert_int_equal(collisions, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    FAST_TEST(fast_under_fire),
	    FAST_TEST(fast_comes_back),
	    FAST_TEST(choose_threads),
	    FAST_TEST(fast_slots_beside_the_stack),
	};

	return RUN_TESTS(tests);
}
