/* SPDX-License-Identifier: MIT */
/*
 * test_work.c - tests which thread runs an operation, and what else goes on meanwhile.
 *
 * Two spaces of one name in one process are two nodes. The second node demands the locks of the
 * first. The second node has no operations.
 */
#include "adversary.h"

#include <sys/syscall.h>

enum { GLOCKS = 8, THREADS = 4, ROUNDS = 150 };

static struct glock_space *first, *second;
static struct glock *mine[GLOCKS], *theirs[GLOCKS];

static struct glock_space *open_with(const struct glock_ops *ops, size_t threads,
				     unsigned int flags)
{
	const struct glock_type_options type = {
	    .size = sizeof(type), .type = GLOCK_INODE, .ops = ops, .hold = GLOCK_HOLD_NONE};

	return open_space_with((struct glock_space_options){
	    .types = &type, .n_types = 1, .flags = flags, .work_threads = threads});
}

static void open_both(const struct glock_ops *ops, size_t threads, unsigned int flags)
{
	first = open_with(ops, threads, flags);
	second = open_with(NULL, 0, 0);
	for (uint64_t i = 0; i < GLOCKS; i++) {
		mine[i] = get(first, GLOCK_INODE, i);
		theirs[i] = get(second, GLOCK_INODE, i);
	}
}

static void close_first(void)
{
	for (int i = 0; i < GLOCKS; i++)
		glock_put(mine[i]);
	SAME(glock_space_close(first), 0);
}

static void close_both(void)
{
	close_first();
	for (int i = 0; i < GLOCKS; i++)
		glock_put(theirs[i]);
	SAME(glock_space_close(second), 0);
}

static void hold(struct glock_holder *gh, struct glock *of, unsigned int flags)
{
	glock_holder_init(gh, of, GLOCK_EX, flags);
	glock_holder_owner(gh, 1);
	SAME(glock_nq(gh), 0);
}

/* Leaves the first n glocks cached in EX at the first node. */
static void cache_mine(int n)
{
	struct glock_holder gh;

	for (int i = 0; i < n; i++) {
		hold(&gh, mine[i], 0);
		SAME(glock_dq(&gh), 0);
	}
}

/* The second node asks for the first n glocks at once, and then waits for them. */
static void demand(struct glock_holder *ghs, int n)
{
	for (int i = 0; i < n; i++)
		hold(&ghs[i], theirs[i], GLOCK_ASYNC);
}

static void take(struct glock_holder *ghs, int n)
{
	for (int i = 0; i < n; i++) {
		SAME(glock_wait(&ghs[i], 0, 0), 0);
		SAME(glock_dq(&ghs[i]), 0);
	}
}

/* ---- which thread ---- */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* the program holds it around calls */
static _Thread_local bool of_program;
static _Atomic int wrong_thread, written, dropped;

static void check_thread(void)
{
	sigset_t blocked;

	SAME(pthread_sigmask(SIG_SETMASK, NULL, &blocked), 0);
	if (of_program || !sigismember(&blocked, SIGINT) || !sigismember(&blocked, SIGALRM))
		wrong_thread++;
	pthread_mutex_lock(&mutex);
	pthread_mutex_unlock(&mutex);
}

static int th_takes_mutex(struct glock *of, enum glock_mode to, unsigned int sync)
{
	(void)of;
	if (to != GLOCK_UN && !sync)
		return 0;
	written++;
	check_thread();
	return 0;
}

static void inval_takes_mutex(struct glock *of, unsigned int what)
{
	CHECK(of && what);
	dropped++;
	check_thread();
}

static const struct glock_ops mutex_ops = {
    .size = sizeof(mutex_ops), .xmote_th = th_takes_mutex, .inval = inval_takes_mutex};

/* A thread that lets a lock go does not write back, and may hold a mutex of the operations. */
/*
 * Promises: Callbacks: "Operations of a", "threads of the", "So a program"; glock_ops: "inval yes
 * no"; glock_dq: "No other operation", "If the type has such".
 */
static void letting_go_writes_nothing_back(void)
{
	struct glock_holder gh, other;

	of_program = true;
	open_both(&mutex_ops, 0, 0);
	for (int i = 0; i < 20; i++) {
		hold(&gh, mine[0], i % 3 ? 0 : GLOCK_NOCACHE);
		demand(&other, 1);
		nap(dice(&(uint64_t){(uint64_t)i + 1}) % 300000);
		alarm(SOON_S); /* ends the test if an operation waits for the mutex */
		pthread_mutex_lock(&mutex);
		SAME(glock_dq(&gh), 0);
		pthread_mutex_unlock(&mutex);
		alarm(0);
		take(&other, 1);
	}
	CHECK(written >= 20 && dropped >= 20);
	SAME(wrong_thread, 0);
	close_both();
	SAME(wrong_thread, 0);
}

static void *waits_for_one(void *arg)
{
	uint64_t seed = (uintptr_t)arg + 1;

	of_program = true;
	for (int i = 0; i < ROUNDS; i++) {
		struct glock_holder gh;
		bool at_second = dice(&seed) % 2;

		glock_holder_init(&gh, at_second ? theirs[0] : mine[0],
				  dice(&seed) % 2 ? GLOCK_EX : GLOCK_SH,
				  dice(&seed) % 3 ? 0 : GLOCK_EXACT);
		SAME(glock_nq(&gh), 0);
		SAME(glock_dq(&gh), 0);
	}
	return NULL;
}

/* A thread that waits runs nothing that another node, or another waiter, makes necessary. */
/* Promises: Callbacks: "a thread in", "That is instantiate"; glock_ops: "xmote_th yes no". */
static void waiting_writes_nothing_back(void)
{
	pthread_t t[THREADS];

	open_both(&mutex_ops, 0, 0);
	for (uintptr_t i = 0; i < THREADS; i++)
		t[i] = thread(waits_for_one, (void *)i);
	for (int i = 0; i < THREADS; i++)
		join_thread(t[i]);
	CHECK(written && dropped);
	SAME(wrong_thread, 0);
	close_both();
}

/* ---- side by side ---- */

static _Atomic int inside, most_inside, goal;

/* Goes on once as many operations as wanted were inside at the same time. */
static int th_meets(struct glock *of, enum glock_mode to, unsigned int sync)
{
	int now_inside;

	(void)of, (void)to;
	if (!sync)
		return 0;
	now_inside = ++inside;
	for (int seen = most_inside; now_inside > seen;)
		if (atomic_compare_exchange_weak(&most_inside, &seen, now_inside))
			break;
	UNTIL(most_inside >= goal);
	breathe(); /* so that one more would be seen */
	inside--;
	return 0;
}

static const struct glock_ops meeting_ops = {.size = sizeof(meeting_ops), .xmote_th = th_meets};

static void meet(size_t threads, int together)
{
	struct glock_holder ghs[GLOCKS];

	most_inside = 0;
	goal = together;
	open_both(&meeting_ops, threads, 0);
	cache_mine(GLOCKS);
	demand(ghs, GLOCKS);
	take(ghs, GLOCKS);
	SAME(most_inside, together);
	close_both();
}

/* The operations of many glocks run at once, as many as the program allows. */
/*
 * Promises: Callbacks: "Operations of different"; work_threads: "The library runs", "When all
 * threads", "With 1 there".
 */
static void write_back_side_by_side(void)
{
	meet(0, GLOCKS);
	meet(1, 1);
	meet(2, 2);
	meet(GLOCKS, GLOCKS);
}

/* A slow operation does not delay another glock, even if its demand comes long after. */
/* Promises: Callbacks: "Operations of different"; work_threads: "so a slow". */
static void slow_one_delays_no_other(void)
{
	struct glock_holder slow, ghs[GLOCKS];

	open_both(&meeting_ops, 2, 0);
	goal = 2;
	cache_mine(2);
	hold(&slow, theirs[0], GLOCK_ASYNC);
	UNTIL(inside);
	nap(5 * MS); /* both threads are at rest: one inside the operation, one asleep */
	hold(&ghs[0], theirs[1], GLOCK_ASYNC);
	take(ghs, 1);
	take(&slow, 1);
	close_both();
}

/* A wrong number is refused. */
/* Promises: work_threads: "The library runs". */
static void numbers_of_threads(void)
{
	struct glock_space_options o = {.size = sizeof(o), .lockman = lockman};
	struct glock_space *opened = NULL;

	o.work_threads = 257;
	SAME(glock_space_open("work", &o, &opened), -EINVAL);
	o.work_threads = 256;
	SAME(glock_space_open("work", &o, &opened), 0);
	SAME(glock_space_close(opened), 0);
}

/* ---- how many threads ---- */

/* The second node has one thread, because it has no operations. */
static void count_threads(size_t most)
{
	struct glock_holder ghs[GLOCKS];

	most_inside = 0;
	goal = (int)most;
	open_both(&meeting_ops, most, 0);
	SAME(threads_named("glock-work"), 2);
	cache_mine(GLOCKS);
	demand(ghs, GLOCKS);
	take(ghs, GLOCKS);
	UNTIL(threads_named("glock-work") == 1 + most);
	nap(5 * MS);
	SAME(threads_named("glock-work"), 1 + most);
	close_first();
	SAME(threads_named("glock-work"), 1);
	first = open_with(&meeting_ops, most, 0);
	for (uint64_t i = 0; i < GLOCKS; i++)
		mine[i] = get(first, GLOCK_INODE, i);
	close_both();
	SAME(threads_named("glock-work"), 0);
}

/* One thread at first. More come when all are inside operations, and stay until the close. */
/* Promises: work_threads: "The library begins", "When all threads", "With 1 there". */
static void threads_come_and_stay(void)
{
	count_threads(1);
	count_threads(3);
}

/* ---- tries ---- */

static _Atomic int writing, may_end;

static int th_until_told(struct glock *of, enum glock_mode to, unsigned int sync)
{
	(void)to;
	if (!sync || glock_number(of))
		return 0;
	writing = 1;
	UNTIL(may_end);
	return 0;
}

static const struct glock_ops told_ops = {.size = sizeof(told_ops), .xmote_th = th_until_told};

static void *dispatches(void *arg)
{
	(void)arg;
	while (!may_end) {
		CHECK(glock_dispatch(first) >= 0);
		breathe();
	}
	return NULL;
}

/* Two threads dispatch. The operations of two glocks meet. The library has no thread for them. */
/*
 * Promises: work_threads: "Has no effect"; glock_space_fd: "Any number of", "Then operations of".
 */
static void dispatchers_run_side_by_side(void)
{
	struct glock_holder ghs[2];
	pthread_t t[2];

	goal = 2;
	open_both(&meeting_ops, 3, GLOCK_SPACE_DISPATCH);
	SAME(threads_named("glock-work"), 1); /* the second node's */
	cache_mine(2);
	for (int i = 0; i < 2; i++)
		t[i] = thread(dispatches, NULL);
	demand(ghs, 2);
	take(ghs, 2);
	may_end = 1;
	for (int i = 0; i < 2; i++)
		join_thread(t[i]);
	SAME(most_inside, 2);
	SAME(threads_named("glock-work"), 1);
	close_both();
}

static int try(struct glock *of, unsigned int flags)
{
	struct glock_holder gh;
	int err;

	glock_holder_init(&gh, of, GLOCK_SH, flags);
	alarm(SOON_S); /* ends the test if the try waits */
	err = glock_nq(&gh);
	alarm(0);
	if (!err)
		SAME(glock_dq(&gh), 0);
	return err;
}

/* No try waits for an operation. The operation ends only after the tries did. */
static void try_meanwhile(unsigned int flags)
{
	struct glock_holder gh;
	pthread_t t = {0};

	writing = may_end = 0;
	open_both(&told_ops, 0, flags);
	cache_mine(1);
	if (flags)
		t = thread(dispatches, NULL);
	demand(&gh, 1);
	UNTIL(writing);
	SAME(try(mine[0], GLOCK_TRY_CACHED), -EAGAIN);
	SAME(try(mine[0], GLOCK_TRY_1CB), -EAGAIN);
	SAME(try(mine[0], GLOCK_TRY_CACHED | GLOCK_ANY), -EAGAIN);
	SAME(try(mine[0], GLOCK_NOBLOCK), -ECHILD);
	SAME(try(mine[1], GLOCK_TRY), 0); /* of another glock */
	SAME(try(mine[1], GLOCK_NOBLOCK), 0);
	may_end = 1;
	if (flags)
		join_thread(t);
	while (flags && !glock_poll(&gh))
		CHECK(glock_dispatch(first) >= 0);
	take(&gh, 1);
	close_both();
}

/* Promises: glock_nq: "With ASYNC and", "Only GLOCK_TRY waits". */
static void tries_do_not_wait_for_write_back(void)
{
	try_meanwhile(0);
	try_meanwhile(GLOCK_SPACE_DISPATCH);
}

/* If the program dispatches, a try does not begin the write-back of another glock. */
/* Promises: glock_space_fd: "Functions that wait"; glock_nq: "If this node". */
static void tries_dispatch_nothing_else(void)
{
	struct glock_holder gh;

	writing = may_end = 0;
	open_both(&told_ops, 0, GLOCK_SPACE_DISPATCH);
	cache_mine(1);
	demand(&gh, 1);
	nap(20 * MS); /* until the demand is here, most likely */
	SAME(try(mine[1], GLOCK_TRY), 0);
	SAME(writing, 0);
	SAME(try(mine[0], GLOCK_TRY_CACHED), -EAGAIN); /* the demand is due */
	SAME(writing, 0);
	may_end = 1;
	while (!glock_poll(&gh))
		CHECK(glock_dispatch(first) >= 0);
	SAME(writing, 1);
	take(&gh, 1);
	close_both();
}

static int th_of_try(struct glock *of, enum glock_mode to, unsigned int sync)
{
	CHECK(of && !sync);
	if (to == GLOCK_UN)
		return 0;
	CHECK(of_program);
	written++;
	return 0;
}

static int lock_of_try(struct glock_holder *gh)
{
	CHECK(gh && of_program);
	written++;
	return 0;
}

static const struct glock_ops try_ops = {.size = sizeof(try_ops),
					 .xmote_th = th_of_try,
					 .instantiate = lock_of_try,
					 .lock = lock_of_try};

/* No thread dispatches: the try itself runs the operations that it needs. */
/* Promises: glock_ops: "instantiate yes no", "lock yes no yes work"; glock_nq: "A try runs". */
static void tries_run_what_they_need(void)
{
	of_program = true;
	open_both(&try_ops, 0, GLOCK_SPACE_DISPATCH);
	SAME(try(mine[0], GLOCK_TRY), 0);
	SAME(written, 3);
	SAME(try(mine[0], GLOCK_TRY_1CB), 0);
	SAME(written, 4); /* lock, for another first holder */
	close_both();
}

/* A try does not wait for a holder that has to let go for another node. */
/* Promises: glock_nq: "If this node". */
static void tries_do_not_wait_behind_a_demand(void)
{
	struct glock_holder held, gh;

	open_both(NULL, 0, 0);
	glock_holder_init(&held, mine[0], GLOCK_SH, 0);
	glock_holder_owner(&held, 1);
	SAME(glock_nq(&held), 0);
	demand(&gh, 1);
	UNTIL(try(mine[0], GLOCK_TRY_CACHED) ==
	      -EAGAIN); /* from the time when the demand is here */
	SAME(glock_dq(&held), 0);
	take(&gh, 1);
	close_both();
}

/* ---- everything at once ---- */

/*
 * The first node's cache of each glock. Only the lock protects the cache; operations use it. All
 * other accesses are relaxed, so that they do not hide a race from ThreadSanitizer.
 */
#define ADD(atom, n) atomic_fetch_add_explicit(&(atom), (n), memory_order_relaxed)
#define LOAD(atom) atomic_load_explicit(&(atom), memory_order_relaxed)
#define STORE(atom, value) atomic_store_explicit(&(atom), (value), memory_order_relaxed)

static struct {
	long value;
	bool cached, dirty;
} cache[GLOCKS];
static _Atomic long disk[GLOCKS];
static _Atomic int working[GLOCKS], slow, ending;

static void begins(struct glock *of)
{
	if (ADD(working[glock_number(of)], 1))
		wrong(__FILE__, __LINE__, "two operations of one glock at once");
	if (LOAD(slow))
		breathe();
}

static void ends(struct glock *of)
{
	ADD(working[glock_number(of)], -1);
}

static int th_writes(struct glock *of, enum glock_mode to, unsigned int sync)
{
	uint64_t n = glock_number(of);

	(void)to;
	begins(of);
	if (sync && cache[n].dirty) {
		STORE(disk[n], cache[n].value);
		cache[n].dirty = false;
	}
	ends(of);
	return 0;
}

static void inval_drops(struct glock *of, unsigned int what)
{
	(void)what;
	begins(of);
	CHECK(!cache[glock_number(of)].dirty);
	cache[glock_number(of)].cached = false;
	ends(of);
}

static int lock_reads(struct glock_holder *gh)
{
	uint64_t n = glock_number(glock_of(gh));

	begins(glock_of(gh));
	if (!cache[n].cached)
		cache[n].value = LOAD(disk[n]);
	cache[n].cached = true;
	ends(glock_of(gh));
	return 0;
}

static const struct glock_ops caching_ops = {
    .size = sizeof(caching_ops), .xmote_th = th_writes, .inval = inval_drops, .lock = lock_reads};

static void *changes_mine(void *arg)
{
	uint64_t seed = (uintptr_t)arg + 1;

	for (int i = 0; i < ROUNDS; i++) {
		uint32_t n = dice(&seed) % GLOCKS, how = dice(&seed);
		struct glock_holder gh;
		int err;

		glock_holder_init(&gh, mine[n], how % 2 ? GLOCK_EX : GLOCK_SH,
				  how / 2 % 8 == 0   ? GLOCK_TRY_CACHED
				  : how / 2 % 8 == 1 ? GLOCK_NOCACHE
						     : 0);
		err = glock_nq(&gh);
		CHECK(!err || err == -EAGAIN);
		if (err)
			continue;
		CHECK(cache[n].cached);
		if (how % 2) {
			cache[n].value++;
			cache[n].dirty = true;
			ADD(shared->cell[n], 1);
		}
		SAME(glock_dq(&gh), 0);
	}
	return NULL;
}

/* The second node reads and writes the disk itself. */
static void *changes_theirs(void *arg)
{
	uint64_t seed = (uintptr_t)arg + 100;

	while (!LOAD(ending)) {
		uint32_t n = dice(&seed) % GLOCKS;
		struct glock_holder gh;

		glock_holder_init(&gh, theirs[n], GLOCK_EX, 0);
		SAME(glock_nq(&gh), 0);
		STORE(disk[n], LOAD(disk[n]) + 1);
		ADD(shared->cell[n], 1);
		SAME(glock_dq(&gh), 0);
	}
	return NULL;
}

/* Several workers, many glocks and demands. The first node closes in the middle, and comes back. */
/* Promises: Callbacks: "Operations of one". */
static void all_at_once(void)
{
	pthread_t here[THREADS], there[THREADS];

	open_both(&caching_ops, 0, 0);
	for (uintptr_t i = 0; i < THREADS; i++)
		there[i] = thread(changes_theirs, (void *)i);
	for (int round = 0; round < 5; round++) {
		slow = round % 2;
		for (uintptr_t i = 0; i < THREADS; i++)
			here[i] = thread(changes_mine, (void *)(i + 10 * (uintptr_t)round));
		for (int i = 0; i < THREADS; i++)
			join_thread(here[i]);
		close_first(); /* the second node still demands what is cached here */
		for (int i = 0; i < GLOCKS; i++)
			CHECK(!cache[i].cached && !cache[i].dirty && !working[i]);
		first = open_with(&caching_ops, (size_t)round, 0);
		for (uint64_t i = 0; i < GLOCKS; i++)
			mine[i] = get(first, GLOCK_INODE, i);
	}
	ending = 1;
	for (int i = 0; i < THREADS; i++)
		join_thread(there[i]);
	close_both();
	for (int i = 0; i < GLOCKS; i++)
		SAME(disk[i], shared->cell[i]);
}

int main(void)
{
	static const struct test tests[] = {
	    {"letting_go_writes_nothing_back", letting_go_writes_nothing_back, "local"},
	    {"waiting_writes_nothing_back", waiting_writes_nothing_back, "local"},
	    {"write_back_side_by_side", write_back_side_by_side, "local"},
	    {"slow_one_delays_no_other", slow_one_delays_no_other, "local"},
	    {"numbers_of_threads", numbers_of_threads, NULL},
	    {"threads_come_and_stay", threads_come_and_stay, "local"},
	    {"dispatchers_run_side_by_side", dispatchers_run_side_by_side, "local"},
	    {"tries_run_what_they_need", tries_run_what_they_need, "local"},
	    {"tries_do_not_wait_for_write_back", tries_do_not_wait_for_write_back, "local"},
	    {"tries_dispatch_nothing_else", tries_dispatch_nothing_else, "local"},
	    {"tries_do_not_wait_behind_a_demand", tries_do_not_wait_behind_a_demand, "local"},
	    {"all_at_once", all_at_once, "local"},
	};

	return run_tests(tests, COUNT(tests));
}
