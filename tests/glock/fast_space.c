/* SPDX-License-Identifier: MIT */
/*
 * fast_space.c - opens the space of the fast path's tests, and makes threads and basts for them.
 */
#include "fast_space.h"
#include "glock/state/busy.h"

#include <unistd.h>

struct glock_space *space;
struct glock *gls[GLOCKS];
char message[512];
int lost_calls;
char dumped[4096];

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

int fast_setup(void **state)
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

int fast_teardown(void **state)
{
	(void)state;
	for (int i = 0; i < GLOCKS; i++)
		glock_put(gls[i]);
	assert_int_equal(glock_space_close(space), 0);
	return 0;
}

bool is_fast(const struct glock_holder *gh)
{
	return gh_state(gh_of(gh)) & GLOCK__H_FAST;
}

int nq(struct glock_holder *gh, struct glock *gl, enum glock_mode mode, unsigned int flags)
{
	glock_holder_init(gh, gl, mode, flags);
	return glock_nq(gh);
}

void cache(struct glock *gl)
{
	struct glock_holder gh;

	assert_int_equal(nq(&gh, gl, GLOCK_EX, 0), 0);
	assert_int_equal(glock_dq(&gh), 0);
	assert_true(atom_load64(&gl->fast) & GLOCK__FAST_OPEN);
}

int64_t qcount(struct glock *gl)
{
	struct glock_statistics s = {.size = sizeof(s)};

	assert_int_equal(glock_statistics(gl, &s), 0);
	return s.qcount;
}

void on_thread(void *(*fn)(void *), void *arg)
{
	pthread_t t;

	assert_int_equal(pthread_create(&t, NULL, fn, arg), 0);
	assert_int_equal(pthread_join(t, NULL), 0);
}

int step;

void await_step(int n)
{
	while (__atomic_load_n(&step, __ATOMIC_ACQUIRE) < n)
		usleep(100);
}

void next_step(int n)
{
	__atomic_store_n(&step, n, __ATOMIC_RELEASE);
}

void demand(struct glock *gl, int dlm_mode)
{
	space->lm->events->bast(&gl->lk, dlm_mode);
}

/* ---- the bias of a word ---- */

bool is_biased(const struct glock_holder *gh)
{
	return gh_state(gh_of(gh)) & GLOCK__H_BIASED;
}

bool with_bias(void)
{
	if (!glock_supports("biased")) {
		printf("1..0 # skip: no membarrier(2), or ThreadSanitizer\n");
		return false;
	}
	return !setenv("GLOCK_BIAS_AFTER", "1", 1);
}

unsigned int bias_of(struct glock *gl)
{
	unsigned int bias;

	gl_lock(gl);
	bias = gl_busy(gl)->more->bias;
	gl_unlock(gl);
	return bias;
}

uint32_t revocations(struct glock *gl)
{
	uint32_t n;

	gl_lock(gl);
	n = gl_busy(gl)->more->revocations;
	gl_unlock(gl);
	return n;
}

void wait_for_bias_again(void)
{
	while (glock__now(space) < (int64_t)atom_load64(&space->bias_not_before))
		usleep(10);
}

int get_bias(struct glock *gl, enum glock_mode mode)
{
	struct glock_holder a;
	bool biased = false;
	int n = 0;

	for (; n < 8 && !biased; n++) {
		wait_for_bias_again(); /* a request may revoke the bias of another thread */
		assert_int_equal(nq(&a, gl, mode, 0), 0);
		biased = is_biased(&a);
		assert_int_equal(glock_dq(&a), 0);
	}
	assert_true(biased);
	return n;
}

/* ---- others ---- */

void print_dump(void *to, const char *text, size_t len)
{
	(void)to;
	strncat(dumped, text, len);
}

static void *let_go(void *gh)
{
	return (void *)(intptr_t)glock_dq(gh);
}

int let_go_elsewhere(struct glock_holder *gh)
{
	void *ret;
	pthread_t t;

	assert_int_equal(pthread_create(&t, NULL, let_go, gh), 0);
	assert_int_equal(pthread_join(t, &ret), 0);
	return (int)(intptr_t)ret;
}

void await_un(struct glock *gl)
{
	bool un = false;

	for (int i = 0; i < 5000 && !un; i++) {
		glock__lock_take(&gl->lock);
		un = gl->state == GLOCK_UN;
		glock__lock_drop(&gl->lock);
		if (!un)
			usleep(1000);
	}
	assert_true(un);
}
