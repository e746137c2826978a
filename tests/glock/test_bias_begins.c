/* SPDX-License-Identifier: MIT */
/*
 * test_bias_begins.c - tests when a bias begins again, and what it does beside demands and events.
 */
#include "fast_space.h"

#include "glock/fast/bias.h"
#include "glock/state/busy.h"
#include "glock/state/demote.h"

#include <unistd.h>

/* ---- time ---- */

/* Stands still, and is ahead by that time in other threads than the test's. */
/* clock_now is an atom. clock_step is of each look in this thread. */
static int64_t clock_now;
static _Thread_local int64_t clock_step;
static _Thread_local bool is_test;
enum { AHEAD = 1000000000 };

static int64_t own_clock(void *arg)
{
	int64_t now = (int64_t)atom_add64((uint64_t *)&clock_now, (uint64_t)clock_step);

	(void)arg;
	return now + clock_step + (is_test ? 0 : AHEAD);
}

static void begin_own_clock(void)
{
	is_test = true;
	clock_step = 0;
	clock_now = glock__now(space);
	space->env.now = own_clock;
}

/* After its end, a bias does not begin again for nine times as long as the end took. */
static void bias_begins_seldom(void **state)
{
	struct glock_holder a;
	int64_t again;

	(void)state;
	cache(gls[0]);
	get_bias(gls[0], GLOCK_EX);
	begin_own_clock();
	gl_lock(gls[0]);
	clock_step = 1000;
	glock__fast_close(gls[0]);
	clock_step = 0;
	gl_unlock(gls[0]);
	again = (int64_t)atom_load64(&space->bias_not_before);
	assert_true(again >= clock_now + 9000);
	clock_now = again - 1;
	for (int i = 0; i < 8; i++) {
		assert_int_equal(nq(&a, gls[0], GLOCK_EX, 0), 0);
		assert_false(is_biased(&a));
		assert_int_equal(glock_dq(&a), 0);
	}
	clock_now = again;
	get_bias(gls[0], GLOCK_EX);
}

/* The hand-over begins with the demand, though its thread does not know the holders yet. */
static void bias_and_the_time_of_a_demand(void **state)
{
	struct glock_holder a;
	int64_t at, asked = 0;

	(void)state;
	cache(gls[0]);
	get_bias(gls[0], GLOCK_EX);
	assert_int_equal(nq(&a, gls[0], GLOCK_EX, 0), 0);
	assert_true(is_biased(&a));
	begin_own_clock();
	at = clock_now;
	demand(gls[0], GLOCK__EX);
	while (!revocations(gls[0]))
		usleep(100); /* a thread of the library ends the bias */
	gl_lock(gls[0]);
	if (gls[0]->flags & GLOCK__F_DEMOTE)
		asked = gl_busy(gls[0])->more->demote_time;
	gl_unlock(gls[0]);
	assert_int_equal(asked, at);
	assert_int_equal(glock_dq(&a), 0);
	await_un(gls[0]);
}

/* No bias begins while a hold time delays a demand. */
static void bias_not_beside_a_demand(void **state)
{
	const struct glock_type_options type = {
	    .size = sizeof(type), .type = GLOCK_INODE, .hold = 60000000000};
	const struct glock_space_options o = {
	    .size = sizeof(o), .types = &type, .n_types = 1, .lockman = "none"};
	struct glock_space *other;
	struct glock_holder a;
	struct glock *gl;

	(void)state;
	assert_int_equal(glock_space_open("other", &o, &other), 0);
	assert_int_equal(glock_get(other, GLOCK_INODE, 1, &gl), 0);
	cache(gl);
	other->lm->events->bast(&gl->lk, GLOCK__EX);
	for (int i = 0; i < 8; i++) {
		assert_int_equal(nq(&a, gl, GLOCK_EX, 0), 0);
		assert_true(is_fast(&a));
		assert_false(is_biased(&a));
		assert_int_equal(glock_dq(&a), 0);
	}
	assert_int_equal(bias_of(gl), GLOCK_UN);
	assert_int_equal(revocations(gl), 0);
	glock_put(gl);
	assert_int_equal(glock_space_close(other), 0);
}

/* ---- events of the lock manager ---- */

static unsigned int polls;

static bool polls_not(struct glock__lockman *lm)
{
	(void)lm;
	return false;
}

static void nudges_not(struct glock__lockman *lm, void *word)
{
	(void)lm, (void)word;
}

static void on_poll(struct glock__lockman *lm)
{
	(void)lm;
	polls++;
}

/* A holder looks for events when it goes, also one whose bias has ended. */
static void bias_of_the_last_and_events(void **state)
{
	static const struct glock__lm_polling polling = {
	    .begin = polls_not, .poll = on_poll, .nudge = nudges_not};
	static const uint32_t rung[2] = {1, 0};
	struct glock__lockman *lm = space->lm;
	const uint32_t *bell = glock__tls()->fast.bell;
	struct glock_holder a, b;

	(void)state;
	cache(gls[0]);
	get_bias(gls[0], GLOCK_EX);
	cache(gls[1]);
	assert_int_equal(nq(&a, gls[0], GLOCK_EX, 0), 0);
	assert_int_equal(nq(&b, gls[1], GLOCK_EX, 0), 0);
	assert_true(is_biased(&a) && is_fast(&b) && !is_biased(&b));
	gl_lock(gls[0]);
	glock__fast_close(gls[0]);
	gl_unlock(gls[0]);
	polls = 0;
	lm->polling = &polling;
	lm->bell = glock__tls()->fast.bell = rung;
	assert_int_equal(glock_dq(&a), 0);
	assert_int_equal(polls, 1);
	assert_int_equal(glock_dq(&b), 0);
	assert_int_equal(polls, 2);
	glock__tls()->fast.bell = bell;
	lm->bell = NULL;
	lm->polling = NULL;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    FAST_TEST(bias_begins_seldom),
	    FAST_TEST(bias_and_the_time_of_a_demand),
	    FAST_TEST(bias_not_beside_a_demand),
	    FAST_TEST(bias_of_the_last_and_events),
	};

	return with_bias() ? RUN_TESTS(tests) : 0;
}
