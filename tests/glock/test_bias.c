/* SPDX-License-Identifier: MIT */
/*
 * test_bias.c - tests the bias of a word: when it begins and ends, and that dumps and counts have
 * holders by a bias.
 *
 * tests/fences explores the orders of loads and stores. Here the threads are real.
 */
#include "fast_space.h"

#include "glock/fast/bias.h"
#include "glock/state/busy.h"
#include "glock/state/demote.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* By default a bias begins after many pairs. */
static void bias_after_many_pairs(void **state)
{
	enum glock_mode modes[] = {GLOCK_SH, GLOCK_EX};
	struct glock_holder a;
	int64_t before;
	int n;

	(void)state;
	space->bias_base = 0;
	for (int i = 0; i < 2; i++) {
		cache(gls[i]);
		before = qcount(gls[i]);
		for (n = 0;; n++) {
			assert_int_equal(nq(&a, gls[i], modes[i], 0), 0);
			if (is_biased(&a))
				break;
			assert_int_equal(glock_dq(&a), 0);
			assert_true(n <= (int)GLOCK__BIAS_AFTER);
		}
		assert_int_equal(glock_dq(&a), 0);
		assert_in_range(n, 10000, GLOCK__BIAS_AFTER);
		assert_int_equal(bias_of(gls[i]), modes[i]);
		/* more than a slot counts between two times that it is folded */
		for (n++; n < 50000; n++) {
			assert_int_equal(nq(&a, gls[i], modes[i], 0), 0);
			assert_true(is_biased(&a));
			assert_int_equal(glock_dq(&a), 0);
		}
		assert_int_equal(qcount(gls[i]) - before, 50000);
		assert_int_equal(bias_of(gls[i]), modes[i]);
	}
}

static void *reads_until_biased(void *arg)
{
	struct glock_holder a;
	bool biased = false;
	int n = 0;

	for (; !biased && n <= 2 * GLOCK__BIAS_AFTER; n++) {
		assert_int_equal(nq(&a, gls[0], GLOCK_SH, 0), 0);
		biased = is_biased(&a);
		assert_int_equal(glock_dq(&a), 0);
	}
	*(int *)arg = n;
	return NULL;
}

/* Other readers of a word that is biased to readers need not wait for so long. */
static void bias_of_further_readers(void **state)
{
	int64_t before, pairs = 0;
	int n;

	(void)state;
	space->bias_base = 0;
	cache(gls[0]);
	before = qcount(gls[0]);
	for (int i = 0; i < 8; i++) {
		on_thread(reads_until_biased, &n);
		assert_in_range(n, i ? 2 : 10000, i ? GLOCK__BIAS_NEXT + 2 : GLOCK__BIAS_AFTER + 2);
		pairs += n;
	}
	assert_int_equal(qcount(gls[0]) - before, pairs);
	wait_for_bias_again();
	cache(gls[0]); /* ends the bias: from now on it takes long again */
	wait_for_bias_again();
	on_thread(reads_until_biased, &n);
	assert_in_range(n, 10000, GLOCK__BIAS_AFTER + 2);
}

/* A bias to a thread serves both modes of that thread. A bias to readers does not serve EX. */
static void bias_serves_modes(void **state)
{
	struct glock_holder a, again;

	(void)state;
	cache(gls[0]);
	get_bias(gls[0], GLOCK_EX);
	assert_int_equal(nq(&a, gls[0], GLOCK_SH, GLOCK_TRY_CACHED), 0);
	assert_true(is_biased(&a) && glock_valid(&a) && glock_poll(&a));
	assert_int_equal(glock_nq(&a), -EINVAL);
	assert_int_equal(nq(&again, gls[0], GLOCK_SH, 0), -EDEADLK);
	assert_int_equal(glock_dq(&a), 0);
	assert_int_equal(glock_dq(&a), -EINVAL);
	assert_int_equal(bias_of(gls[0]), GLOCK_UN);

	get_bias(gls[0], GLOCK_SH);
	assert_int_equal(bias_of(gls[0]), GLOCK_SH);
	assert_int_equal(nq(&a, gls[0], GLOCK_EX, 0), 0);
	assert_false(is_biased(&a));
	assert_int_equal(revocations(gls[0]), 2);
	assert_int_equal(glock_downgrade(&a, GLOCK_SH), 0);
	assert_int_equal(glock_dq(&a), 0);

	get_bias(gls[0], GLOCK_EX);
	assert_int_equal(nq(&a, gls[0], GLOCK_EX, 0), 0);
	assert_true(is_biased(&a));
	assert_int_equal(glock_downgrade(&a, GLOCK_SH), 0);
	assert_int_equal(glock_dq(&a), 0);
	assert_int_equal(nq(&a, gls[0], GLOCK_EX, GLOCK_TRY_CACHED), 0);
	assert_int_equal(glock_dq(&a), 0);
}

static uint32_t hold_uses(struct glock *gl, enum glock__hold_uses which)
{
	uint32_t n;

	gl_lock(gl);
	glock__fast_fold(gl);
	n = gl_busy(gl)->hold_state.n[which];
	gl_unlock(gl);
	return n;
}

/* The policy of the hold time is told how many uses were in EX, and how many there were. */
static void bias_counts_for_the_policy(void **state)
{
	struct glock_holder a;
	uint32_t all, ex;

	(void)state;
	cache(gls[0]);
	get_bias(gls[0], GLOCK_EX); /* it serves both modes */
	all = hold_uses(gls[0], GLOCK__USES_ANY);
	ex = hold_uses(gls[0], GLOCK__USES_EX);
	for (int i = 0; i < 1000; i++) {
		assert_int_equal(nq(&a, gls[0], i % 4 ? GLOCK_SH : GLOCK_EX, 0), 0);
		assert_true(is_biased(&a));
		assert_int_equal(glock_dq(&a), 0);
	}
	assert_int_equal(hold_uses(gls[0], GLOCK__USES_ANY) - all, 1000);
	assert_int_equal(hold_uses(gls[0], GLOCK__USES_EX) - ex, 250);
}

static void remember_death(struct glock *gl)
{
	gl_lock(gl);
	gl->flags |= GLOCK__F_DIED;
	gl_unlock(gl);
}

/* Readers by a bias are told of a death, too. A bias to a thread begins once a holder was told. */
static void bias_and_a_death(void **state)
{
	struct glock_holder a;

	(void)state;
	cache(gls[0]);
	remember_death(gls[0]);
	get_bias(gls[0], GLOCK_SH);
	assert_int_equal(nq(&a, gls[0], GLOCK_SH, 0), 0);
	assert_true(is_biased(&a));
	assert_int_equal(glock_owner_died(&a), 1);
	assert_int_equal(glock_dq(&a), 0);
	assert_int_equal(nq(&a, gls[0], GLOCK_EX, 0), 0);
	assert_false(is_biased(&a));
	assert_int_equal(glock_owner_died(&a), 1);
	assert_int_equal(glock_dq(&a), 0);
	get_bias(gls[0], GLOCK_EX);
	assert_int_equal(nq(&a, gls[0], GLOCK_EX, 0), 0);
	assert_int_equal(glock_owner_died(&a), 0);
	assert_int_equal(glock_dq(&a), 0);

	assert_int_equal(bias_of(gls[0]), GLOCK_EX);
	remember_death(gls[0]); /* ends the bias */
	assert_int_equal(bias_of(gls[0]), GLOCK_UN);
	assert_int_equal(nq(&a, gls[0], GLOCK_EX, 0), 0);
	assert_int_equal(glock_owner_died(&a), 1);
	assert_int_equal(glock_dq(&a), 0);
}

static void bias_and_a_withdrawal(void **state)
{
	struct glock_holder a;
	uint64_t token;

	(void)state;
	cache(gls[0]);
	get_bias(gls[0], GLOCK_EX);
	assert_int_equal(nq(&a, gls[0], GLOCK_EX, 0), 0);
	assert_true(is_biased(&a) && glock_valid(&a));
	glock_withdraw(space);
	assert_false(glock_valid(&a));
	assert_int_equal(lost_calls, 1);
	assert_int_equal(glock_token(&a, &token), -EIO);
	assert_int_equal(glock_dq(&a), 0);
	assert_int_equal(nq(&a, gls[0], GLOCK_EX, 0), -EIO);
}

/* Some locks at a time, of which two share a slot. */
static void bias_of_many_locks(void **state)
{
	struct glock *gl[3 * GLOCK__BIAS_SLOTS];
	struct glock_holder a[ARRAY_SIZE(gl)];
	unsigned int biased = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(gl); i++) {
		assert_int_equal(glock_get(space, GLOCK_INODE, 100 + i, &gl[i]), 0);
		cache(gl[i]);
		get_bias(gl[i], GLOCK_EX);
	}
	for (size_t i = ARRAY_SIZE(gl); i--;) {
		assert_int_equal(nq(&a[i], gl[i], i % 2 ? GLOCK_EX : GLOCK_SH, 0), 0);
		biased += is_biased(&a[i]);
	}
	assert_in_range(biased, 1, GLOCK__BIAS_SLOTS);
	for (size_t i = 0; i < ARRAY_SIZE(gl); i++) {
		assert_int_equal(glock_dq(&a[i]), 0);
		assert_int_equal(nq(&a[i], gl[i], GLOCK_EX, GLOCK_TRY_CACHED), 0);
		assert_int_equal(glock_dq(&a[i]), 0);
		glock_put(gl[i]);
	}
}

/* ---- other threads ---- */

static struct glock_holder there;
static enum glock_mode mode_there;
static void *holds_for_a_while(void *arg)
{
	(void)arg;
	get_bias(gls[0], mode_there);
	assert_int_equal(nq(&there, gls[0], mode_there, 0), 0);
	assert_true(is_biased(&there));
	next_step(1);
	await_step(2);
	assert_int_equal(glock_dq(&there), 0);
	return NULL;
}

/* A holder by a bias is in the way, is seen, and wakes up the waiter. */
static void bias_is_revoked(void **state)
{
	struct glock_holder_info seen[2] = {{.size = sizeof(seen[0])}, {.size = sizeof(seen[0])}};
	struct glock_holder a, b;
	pthread_t t;

	(void)state;
	for (mode_there = GLOCK_EX; mode_there <= GLOCK_SH; mode_there += GLOCK_SH - GLOCK_EX) {
		cache(gls[0]);
		next_step(0);
		pthread_create(&t, NULL, holds_for_a_while, NULL);
		await_step(1);
		assert_int_equal(bias_of(gls[0]), mode_there);
		assert_int_equal(nq(&a, gls[0], GLOCK_EX, GLOCK_TRY_CACHED), -EAGAIN);
		assert_int_equal(bias_of(gls[0]), GLOCK_UN);
		assert_int_equal(glock_holders(gls[0], seen, 2), 1);
		assert_int_equal(seen[0].mode, mode_there);
		assert_non_null(seen[0].where);
		assert_int_equal(glock_dq(&there), -EPERM);
		if (mode_there == GLOCK_SH) {
			assert_int_equal(nq(&b, gls[0], GLOCK_SH, GLOCK_TRY_CACHED), 0);
			assert_int_equal(glock_dq(&b), 0);
		}
		assert_int_equal(nq(&a, gls[0], GLOCK_EX, GLOCK_ASYNC), 0);
		assert_int_equal(glock_poll(&a), 0);
		next_step(2);
		assert_int_equal(glock_wait(&a, 0, 0), 0);
		assert_int_equal(glock_dq(&a), 0);
		pthread_join(t, NULL);
	}
}

static void *ends_with_it(void *arg)
{
	(void)arg;
	get_bias(gls[0], mode_there);
	assert_int_equal(nq(&there, gls[0], mode_there, 0), 0);
	assert_true(is_biased(&there));
	return NULL;
}

static void *uses_it(void *arg)
{
	*(int *)arg = get_bias(gls[0], mode_there);
	return NULL;
}

/* A thread that ends leaves its counts and its holder behind, and no bias. */
static void bias_of_an_ended_thread(void **state)
{
	struct glock_holder a;
	int64_t before;
	int n = 0;

	(void)state;
	for (mode_there = GLOCK_EX; mode_there <= GLOCK_SH; mode_there += GLOCK_SH - GLOCK_EX) {
		cache(gls[0]);
		before = qcount(gls[0]);
		on_thread(uses_it, &n);
		assert_int_equal(qcount(gls[0]) - before, n);
		assert_int_equal(nq(&a, gls[0], GLOCK_EX, GLOCK_TRY_CACHED), 0);
		assert_int_equal(glock_dq(&a), 0);
		on_thread(ends_with_it, NULL);
		assert_int_equal(nq(&a, gls[0], GLOCK_EX, GLOCK_TRY_CACHED), -EAGAIN);
		assert_int_equal(glock_dq(&there), 0);
		assert_int_equal(nq(&a, gls[0], GLOCK_EX, GLOCK_TRY_CACHED), 0);
		assert_int_equal(glock_dq(&a), 0);
	}
}

static struct glock *gl_there;

static void *uses_two_spaces(void *arg)
{
	int *n = arg;

	n[0] = get_bias(gls[0], GLOCK_EX);
	n[1] = get_bias(gl_there, GLOCK_EX);
	return NULL;
}

/* A thread that ends gives up its biases in all spaces. */
static void bias_of_a_thread_of_two_spaces(void **state)
{
	const struct glock_space_options o = {.size = sizeof(o), .lockman = "none"};
	int64_t before[2];
	struct glock_space *other;
	struct glock_holder a;
	int n[2];

	(void)state;
	assert_int_equal(glock_space_open("other", &o, &other), 0);
	assert_int_equal(glock_get(other, GLOCK_INODE, 1, &gl_there), 0);
	cache(gls[0]);
	cache(gl_there);
	before[0] = qcount(gls[0]);
	before[1] = qcount(gl_there);
	on_thread(uses_two_spaces, n);
	for (int i = 0; i < 2; i++) {
		struct glock *gl = i ? gl_there : gls[0];

		assert_int_equal(qcount(gl) - before[i], n[i]);
		assert_int_equal(nq(&a, gl, GLOCK_EX, GLOCK_TRY_CACHED), 0);
		assert_int_equal(glock_dq(&a), 0);
	}
	glock_put(gl_there);
	assert_int_equal(glock_space_close(other), 0);
}

/* ---- load ---- */

enum { PAIRS = 30000 };
static long shared;

static void *reads_and_writes(void *arg)
{
	unsigned int seed = (unsigned int)(uintptr_t)arg;
	struct glock_holder a;
	long seen;

	for (int i = 0; i < PAIRS; i++) {
		bool writes = !(rand_r(&seed) & 0x1ff);

		assert_int_equal(nq(&a, gls[0], writes ? GLOCK_EX : GLOCK_SH, 0), 0);
		seen = __atomic_load_n(&shared, __ATOMIC_RELAXED);
		if (writes)
			__atomic_store_n(&shared, seen + 1, __ATOMIC_RELAXED);
		else
			assert_int_equal(__atomic_load_n(&shared, __ATOMIC_RELAXED), seen);
		assert_int_equal(glock_dq(&a), 0);
		if (writes)
			__atomic_add_fetch(&step, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

/* Readers get their bias back again and again, and writers end it. No change is lost. */
static void bias_under_load(void **state)
{
	pthread_t t[THREADS];
	int64_t before;

	(void)state;
	cache(gls[0]);
	before = qcount(gls[0]);
	shared = step = 0;
	for (uintptr_t i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, reads_and_writes, (void *)(i + 1));
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	assert_int_equal(shared, step);
	assert_int_equal(qcount(gls[0]) - before, THREADS * PAIRS);
	assert_true(revocations(gls[0]) > 10);
}

/* ---- without membarrier ---- */

/* Makes membarrier(2) fail, as an old kernel does. */
static void forbid_membarrier(void)
{
	struct sock_filter code[] = {
	    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 0, 1),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = {.len = ARRAY_SIZE(code), .filter = code};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter))
		_exit(77);
}

/* Returns whether a new space of this process is counted, and works. */
static bool is_counted(void)
{
	const struct glock_space_options o = {.size = sizeof(o), .lockman = "none"};
	struct glock_space *other;
	struct glock_holder a;
	struct glock *gl;
	bool biased = false;

	if (glock_space_open("other", &o, &other) || glock_get(other, GLOCK_INODE, 1, &gl))
		return false;
	for (int i = 0; i < 40000; i++) {
		if (nq(&a, gl, GLOCK_EX, 0))
			return false;
		biased |= is_biased(&a);
		if (glock_dq(&a))
			return false;
	}
	glock_put(gl);
	return !biased && !glock_space_close(other);
}

/* Promises: glock_supports: "(cached locks without". */
static void bias_needs_membarrier(void **state)
{
	pid_t pid = fork();
	int status;

	(void)state;
	if (!pid) {
		forbid_membarrier();
		_exit(!(!glock_supports("biased") && is_counted()));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(glock_supports("biased"), 1);
	setenv("GLOCK_BIAS_AFTER", "0", 1);
	assert_true(is_counted());
	setenv("GLOCK_BIAS_AFTER", "1", 1);
}

static void *has_no_bias(void *gl)
{
	struct glock_holder a;

	for (int i = 0; i < 8; i++) {
		assert_int_equal(nq(&a, gl, GLOCK_EX, 0), 0);
		assert_false(is_biased(&a));
		assert_int_equal(glock_dq(&a), 0);
	}
	return NULL;
}

static void *has_bias_and_waits(void *arg)
{
	struct glock_holder a;

	(void)arg;
	get_bias(gls[0], GLOCK_EX);
	assert_int_equal(nq(&a, gls[0], GLOCK_EX, 0), 0);
	next_step(1);
	await_step(2);
	usleep(1000); /* the other thread waits, most probably */
	assert_int_equal(glock_dq(&a), 0);
	next_step(3);
	await_step(4);
	return NULL;
}

/* The thread with the bias holds the lock, lets it go, and then sleeps. */
static void end_bias_without_membarrier(void)
{
	struct glock_holder a;
	pthread_t t;

	step = 0;
	pthread_create(&t, NULL, has_bias_and_waits, NULL);
	await_step(1);
	forbid_membarrier();
	assert_int_equal(nq(&a, gls[0], GLOCK_EX, GLOCK_TRY), -EBUSY);
	next_step(2);
	assert_int_equal(nq(&a, gls[0], GLOCK_EX, 0), 0);
	assert_true(revocations(gls[0]) > 0);
	assert_int_equal(glock_dq(&a), 0);
	await_step(3);
	assert_non_null(strstr(message, "membarrier"));
	has_no_bias(gls[0]);
	next_step(4);
	pthread_join(t, NULL);
	on_thread(has_no_bias, gls[0]);
}

static void bias_ends_without_membarrier(void **state)
{
	pid_t pid = fork();
	int status;

	(void)state;
	if (!pid) {
		fast_setup(NULL);
		end_bias_without_membarrier();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    FAST_TEST(bias_after_many_pairs),
	    FAST_TEST(bias_of_further_readers),
	    FAST_TEST(bias_serves_modes),
	    FAST_TEST(bias_counts_for_the_policy),
	    FAST_TEST(bias_and_a_death),
	    FAST_TEST(bias_and_a_withdrawal),
	    FAST_TEST(bias_of_many_locks),
	    FAST_TEST(bias_is_revoked),
	    FAST_TEST(bias_of_an_ended_thread),
	    FAST_TEST(bias_of_a_thread_of_two_spaces),
	    FAST_TEST(bias_under_load),
	    FAST_TEST(bias_needs_membarrier),
	    FAST_TEST(bias_ends_without_membarrier),
	};

	return with_bias() ? RUN_TESTS(tests) : 0;
}
