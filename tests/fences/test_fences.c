/* SPDX-License-Identifier: MIT */
/*
 * test_fences.c - explores all executions of the biased word, on two memories.
 *
 * The threads call the fast paths of glock_nq() and glock_dq() of the library itself; see memory.h.
 * One glock is biased to thread 0, or to readers. A holder in EX changes `data`, and a holder in SH
 * reads it.
 */
#include "memory.h"

#include "../glock/check.h"
#include "glock/core/hash.h"
#include "glock/fast/fast.h"
#include "glock/space/open.h"
#include "glock/state/demote.h"
#include "lockman/lockman.h"
#include "mutant.h"

#include <malloc.h>

static struct glock_space *space;
static struct glock *gl;
static struct glock__lockman *lm;
static struct glock_holder gh[THREADS_MAX];
static uint32_t data;
static int in_sh, in_ex;
static int64_t granted;
static bool ended[THREADS_MAX];
static struct glock *other;
static uint32_t handed;
static bool asked, gone;
static struct glock *kept;

/* ---- a space for each execution ---- */

static int64_t now(void *arg)
{
	(void)arg;
	return 1000000;
}

static uint32_t dice(void *arg)
{
	(void)arg;
	return 0;
}

static unsigned int cpu(void)
{
	return 0;
}

static void open_space(void)
{
	static const struct glock_type_options type = {
	    .size = sizeof(type), .type = GLOCK_INODE, .hold = GLOCK_HOLD_NONE};
	static const struct glock_space_options o = {
	    .size = sizeof(o), .flags = GLOCK_SPACE_DISPATCH, .types = &type, .n_types = 1};
	static const struct glock__env env = {.now = now, .random = dice, .cpu = cpu, .cpus = 1};

	lm = glock__none_new();
	assert_non_null(lm);
	assert_int_equal(glock__space_open("fences", &o, lm, &env, &space), 0);
	assert_int_equal(glock_get(space, GLOCK_INODE, 1, &gl), 0);
	data = 0;
	in_sh = in_ex = 0;
	granted = 0;
	memset(ended, 0, sizeof(ended));
	handed = 0;
	asked = gone = false;
	glock__fences_begun = glock__fences_ended = 1;
	memory_name(gl);
	memory_know(&glock__fences_ended, 8, PLAIN);
	memory_know(&gl->fast, sizeof(gl->fast), WORD);
	memory_know(&gl->lock.word, 4, LOCK);
	memory_know(&glock__threads_lock.word, 4, LOCK);
	memory_know(&data, 4, PLAIN);
}

static void close_space(void)
{
	glock__threads_lock.word = 0;
	for (unsigned int i = 0; i < THREADS_MAX; i++)
		memory_tls(i)->deferred.locked = NULL;
	glock__space_kill(space);
	for (unsigned int i = 0; i < THREADS_MAX; i++)
		if (memory_tls(i)->fast.threads)
			glock__tls_end(memory_tls(i));
}

/* ---- what the threads do ---- */

static int nq(unsigned int i, enum glock_mode mode, unsigned int flags)
{
	glock_holder_init(&gh[i], gl, mode, flags);
	return glock_nq_at(&gh[i], "here");
}

static void use(enum glock_mode mode)
{
	if (mode == GLOCK_EX) {
		if (in_sh || in_ex)
			memory_wrong("a holder in EX beside another holder");
		in_ex++;
		if (memory_load(&data, 4, RELAXED) != data)
			memory_wrong("a holder in EX read an old value");
		memory_store(&data, 4, data + 1, RELAXED);
		in_ex--;
		return;
	}
	if (in_ex)
		memory_wrong("a holder in SH beside one in EX");
	in_sh++;
	if (memory_load(&data, 4, RELAXED) != data)
		memory_wrong("a holder in SH read an old value");
	memory_load_late(&data, data);
	in_sh--;
}

/* The fast path of glock_nq(). If it refuses, a thread would go on to the queue. */
static bool fast_nq(unsigned int i, enum glock_mode mode)
{
	enum glock__fast_result result;

	glock_holder_init(&gh[i], gl, mode, 0);
	result = glock__fast_nq(gl, gh_of(&gh[i]), "here");
	if (result == GLOCK__FAST_NOT)
		result = glock__fast_nq_more(gl, gh_of(&gh[i]), "here");
	glock__fast_undo(gh_of(&gh[i]), result);
	granted += result == GLOCK__FAST_TAKEN;
	return result == GLOCK__FAST_TAKEN;
}

static void fast_dq(unsigned int i)
{
	int err;

	if (gh_state(gh_of(&gh[i])) & GLOCK__H_MOVABLE)
		err = glock__movable_dq(gh_of(&gh[i]));
	else if (!glock__fast_dq(gh_of(&gh[i]), &err))
		err = glock__fast_dq_more(gl, gh_of(&gh[i]));
	if (err)
		memory_wrong("a holder could not let go");
}

static void pairs(unsigned int i, enum glock_mode mode, int n)
{
	while (n--) {
		if (!fast_nq(i, mode))
			continue;
		use(mode);
		fast_dq(i);
	}
}

/* Closes the word, as a request that does not fit. Uses the data if no holder is there. */
static void close_word(void)
{
	gl_lock(gl);
	glock__fast_close(gl);
	if (glock__fast_mode(gl) == GLOCK_UN)
		use(GLOCK_EX);
	gl_unlock(gl);
}

/* With gl->lock and a word that is not open, only a counted holder could change the word. */
static bool is_quiet(int i)
{
	if (!gl_held(gl) || gl->fast & GLOCK__FAST_OPEN)
		return false;
	for (int k = 0; k < THREADS_MAX; k++)
		if (k != i &&
		    (gh_of(&gh[k])->state & (GLOCK__H_FAST | GLOCK__H_BIASED)) == GLOCK__H_FAST)
			return false;
	return true;
}

static bool is_biased(unsigned int i)
{
	return gh_state(gh_of(&gh[i])) & GLOCK__H_BIASED;
}

/* Makes the model know the words of a thread, which it uses from now on. */
static void know_thread(unsigned int i)
{
	struct glock__thread *t = glock__thread_in(space);
	struct glock__slot *s = glock__slot_of_bias(t, gl);

	assert_non_null(t);
	glock__call_site_known(t, "here");
	glock_holder_init(&gh[i], gl, GLOCK_SH, 0);
	memory_name(&gh[i]);
	memory_know(&gh_of(&gh[i])->state, 4, PLAIN);
	memory_know(&t->used, 4, USED);
	memory_know(&s->allowed, 1, PLAIN);
	memory_know(&s->mode, 1, PLAIN);
	memory_know(&s->count[0], 4, PLAIN);
	memory_know(&s->count[1], 4, PLAIN);
}

/*
 * Asks until the thread has the bias: by the queue, by the word, and when the word is full. One
 * more request fills slot 0.
 */
static void get_bias(unsigned int i, enum glock_mode mode)
{
	unsigned int biased = 0;

	for (int k = 0; k < 5 && biased < 2; k++) {
		assert_int_equal(nq(i, mode, 0), 0);
		granted++;
		biased += is_biased(i);
		assert_int_equal(glock_dq(&gh[i]), 0);
	}
	assert_int_equal(biased, 2);
	data = 0;
}

static void all_read(unsigned int i)
{
	get_bias(i, GLOCK_SH);
	know_thread(i);
}

static void first_reads(unsigned int i)
{
	if (!i)
		get_bias(i, GLOCK_SH);
	know_thread(i);
}

static void second_reads(unsigned int i)
{
	if (i == 1)
		get_bias(i, GLOCK_SH);
	know_thread(i);
}

static void first_writes(unsigned int i)
{
	if (!i)
		get_bias(i, GLOCK_EX);
	know_thread(i);
}

/* At the end nothing holds the glock, and all uses are counted. */
static void nothing_is_left(void)
{
	if (nq(0, GLOCK_EX, GLOCK_TRY))
		memory_wrong("the glock stays held");
	else
		glock_dq(&gh[0]);
	gl_lock(gl);
	glock__fast_fold(gl);
	if (gl_record(gl)->stats.v[GLOCK__QCOUNT] != granted + 1)
		memory_wrong("uses are not counted");
	gl_unlock(gl);
}

static void one_pair(unsigned int i)
{
	if (!i)
		pairs(i, GLOCK_SH, 1);
	else
		close_word();
}

static void two_pairs(unsigned int i)
{
	if (!i)
		pairs(i, GLOCK_SH, 2);
	else
		close_word();
}

static void one_pair_in_ex(unsigned int i)
{
	if (!i)
		pairs(i, GLOCK_EX, 1);
	else
		close_word();
}

/* All but the last one read, and the last one closes. */
static void two_readers(unsigned int i)
{
	if (i < 2)
		pairs(i, GLOCK_SH, 1);
	else
		close_word();
}

/* One thread closes. Another one makes a heavy fence for other glocks, at any time. */
static void close_in_two_steps(void)
{
	gl_lock(gl);
	glock__fast_shut(gl);
	gl_unlock(gl);
	close_word();
}

/* The exploration begins with executions in which the steps of thread 0 come early. */
static void fence_of_others(unsigned int i)
{
	if (!i)
		glock__bias_fence(space);
	else if (i == 1)
		pairs(i, GLOCK_SH, 1);
	else
		close_in_two_steps();
}

/* One thread begins the end of the bias. Another one makes the fence, and a third one ends it. */
static void three_parts(unsigned int i)
{
	if (!i) {
		pairs(i, GLOCK_EX, 1);
	} else if (i == 1) {
		gl_lock(gl);
		glock__fast_shut(gl);
		if (gl_busy(gl)->bias && glock__fast_mode(gl) != GLOCK_EX)
			memory_wrong("an unknown holder is not in the word");
		gl_unlock(gl);
		glock__bias_fence(space);
	} else {
		close_word();
	}
}

/* The closer gets a bias itself, perhaps while a claim stands. */
static void reopened(unsigned int i)
{
	if (!i) {
		pairs(i, GLOCK_SH, 1);
		return;
	}
	close_word();
	glock__bias_offer(gl, GLOCK_SH);
}

/* The thread gets its bias back while it may still be refused. */
static void reopened_and_closed(unsigned int i)
{
	if (i) {
		close_word();
		glock__bias_offer(gl, GLOCK_SH);
		close_word();
		return;
	}
	glock__bias_offer(gl, GLOCK_SH);
	pairs(i, GLOCK_SH, 1);
}

/* The bias moves from thread 0 to thread 1. */
static void moved(unsigned int i)
{
	if (i) {
		glock__bias_offer(gl, GLOCK_EX);
		pairs(i, GLOCK_EX, 1);
	} else {
		pairs(i, GLOCK_EX, 1);
	}
}

/* Thread 0 ends, with the lock if it gets it. */
static void ends(unsigned int i)
{
	if (i) {
		close_word();
		return;
	}
	ended[0] = fast_nq(0, GLOCK_SH);
	if (ended[0])
		use(GLOCK_SH);
	glock__tls_end(memory_tls(0));
}

static void ends_without(unsigned int i)
{
	if (i) {
		close_word();
		return;
	}
	pairs(0, GLOCK_EX, 1);
	glock__tls_end(memory_tls(0));
}

static void lets_go_for_it(void)
{
	if (ended[0] && glock_dq(&gh[0]))
		memory_wrong("the holder of an ended thread stays");
	nothing_is_left();
}

/* ---- movable holders: the thread that lets go is not the one that asked ---- */

enum { OF_OTHER = THREADS_MAX - 1 }; /* the holder of another glock */

static bool movable_nq(unsigned int i, struct glock *of)
{
	enum glock__fast_result result;

	glock_holder_init(&gh[i], of, GLOCK_EX, GLOCK_NOPID);
	result = glock__movable_nq(of, gh_of(&gh[i]), "here");
	if (result == GLOCK__FAST_NOT)
		result = glock__movable_nq_more(of, gh_of(&gh[i]), "here");
	glock__fast_undo(gh_of(&gh[i]), result);
	return result == GLOCK__FAST_TAKEN;
}

static void all_may_ask(unsigned int i)
{
	if (!i) {
		assert_int_equal(glock_get(space, GLOCK_INODE, 2, &other), 0);
		memory_name(other);
		for (int k = 0; k < 2; k++) {
			glock_holder_init(&gh[0], k ? gl : other, GLOCK_EX, 0);
			assert_int_equal(glock_nq(&gh[0]), 0);
			assert_int_equal(glock_dq(&gh[0]), 0);
		}
		granted = 1;
		data = 0;
		memory_know(&handed, 4, PLAIN);
		memory_name(&gh[OF_OTHER]);
		glock_holder_init(&gh[OF_OTHER], other, GLOCK_EX, GLOCK_NOPID);
	}
	know_thread(i);
	for (int k = 0; !i && k < 2; k++) {
		struct glock__movable *s = &glock__thread_in(space)->movable[k];

		memory_know(&s->state, 1, PLAIN);
		memory_know(&s->gl, 8, PLAIN);
		memory_know(&s->gh, 8, PLAIN);
	}
}

/* Closes the word, and looks for holders in the slots. */
static void close_and_look(void)
{
	struct glock__fast_holder found[4];
	size_t n;

	gl_lock(gl);
	glock__fast_close(gl);
	n = glock__slots_of(gl, found, 4);
	for (size_t k = 0; k < n && k < 4; k++)
		if (found[k].gh != gh_of(&gh[0]))
			memory_wrong("a slot shows the holder of another glock");
	if (n && gone)
		memory_wrong("a slot shows a holder that is gone");
	if (glock__fast_mode(gl) == GLOCK_UN)
		use(GLOCK_EX);
	gl_unlock(gl);
}

/* Thread 0 asks, and then asks for another glock. Thread 1 lets go. */
static void moves(unsigned int i)
{
	if (i == 2) {
		close_and_look();
	} else if (i == 1 && memory_load(&handed, 4, ACQUIRE)) {
		use(GLOCK_EX);
		fast_dq(0);
		gone = true;
	} else if (!i) {
		asked = movable_nq(0, gl);
		if (asked) {
			granted++;
			use(GLOCK_EX);
			memory_store(&handed, 4, 1, RELEASE);
		}
		if (!movable_nq(OF_OTHER, other))
			memory_wrong("a cached glock is refused");
	}
}

static void moved_holder_is_gone(void)
{
	if (asked && !gone)
		fast_dq(0);
	fast_dq(OF_OTHER);
	nothing_is_left();
}

/* ---- a look-up, while the glock goes and another one gets its memory ---- */

static void know_the_table(unsigned int i)
{
	static const uint64_t numbers[] = {1, 3};
	uint64_t hash;

	if (i)
		return;
	memory_know(&space->lock.word, 4, LOCK);
	memory_know(&gl->number, 8, PLAIN);
	for (int k = 0; k < 2; k++) {
		hash = glock__hash_of(GLOCK_INODE, numbers[k]);
		memory_know(&space->parts[hash % GLOCK__PARTS].lock.word, 4, LOCK);
		for (int e = 0; e < GLOCK__HASH_ENTRIES; e++)
			if (space->hash[0][hash % 64].entries[e])
				memory_know(&space->hash[0][hash % 64].entries[e], 4, PLAIN);
	}
}

static void looks(unsigned int i)
{
	struct glock *found;

	if (i) {
		glock_put(gl);
		if (glock_get(space, GLOCK_INODE, 3, &other))
			memory_wrong("no glock is made");
		return;
	}
	if (glock_get(space, GLOCK_INODE, 1, &found))
		memory_wrong("a glock is not found");
	else if (found->number != 1 || !(found->flags & GLOCK__F_TABLE))
		memory_wrong("a look-up found a glock that is gone");
	kept = found;
}

static void both_are_there(void)
{
	if (glock__hash_find(space, GLOCK_INODE, 1) != kept ||
	    glock__hash_find(space, GLOCK_INODE, 3) != other || kept == other || kept->users != 1 ||
	    other->users != 1 || space->n_glocks != 2)
		memory_wrong("the table is wrong");
}

#define SCENARIO(n, t, b, r, a)                                                     \
	{                                                                           \
		.name = n, .threads = t, .open = open_space, .before = b, .run = r, \
		.quiet = is_quiet, .after = a, .close = close_space                 \
	}

static const struct scenario scenarios[] = {
    SCENARIO("a reader", 2, first_reads, one_pair, nothing_is_left),
    SCENARIO("a reader, twice", 2, first_reads, two_pairs, nothing_is_left),
    SCENARIO("a holder in EX", 2, first_writes, one_pair_in_ex, nothing_is_left),
    SCENARIO("the owner reads", 2, first_writes, one_pair, nothing_is_left),
    SCENARIO("two readers", 3, all_read, two_readers, nothing_is_left),
    SCENARIO("two closers of a reader", 3, first_reads, one_pair, nothing_is_left),
    SCENARIO("two closers of a writer", 3, first_writes, one_pair_in_ex, nothing_is_left),
    SCENARIO("a fence of other glocks", 3, second_reads, fence_of_others, nothing_is_left),
    SCENARIO("an end in three parts", 3, first_writes, three_parts, nothing_is_left),
    SCENARIO("reopened", 2, first_reads, reopened, nothing_is_left),
    SCENARIO("reopened and closed", 2, first_reads, reopened_and_closed, nothing_is_left),
    SCENARIO("moved to another thread", 2, first_writes, moved, nothing_is_left),
    SCENARIO("a thread ends with the lock", 2, first_reads, ends, lets_go_for_it),
    SCENARIO("a holder moves", 3, all_may_ask, moves, moved_holder_is_gone),
    SCENARIO("a look-up of a glock that goes", 2, know_the_table, looks, both_are_there),
    SCENARIO("a thread ends", 2, first_writes, ends_without, lets_go_for_it),
};

/* Each fence that the test takes out, and the scenario that shows its lack. */
static const struct lacking {
	const char *what;
	enum lack lack;
	unsigned int scenario;
	const char *mutant; /* or NULL */
} lacking[] = {
    {"the release of a slot's bit in nq", LACKS_RELEASE_OF_USED, 3, NULL},
    {"the release of a slot's bit in dq", LACKS_RELEASE_OF_LEAVE, 0, NULL},
    {"the light fence in nq", LACKS_LIGHT_FENCE, 0, NULL},
    {"the light fence in dq", LACKS_LIGHT_FENCE_LEAVE, 0, NULL},
    {"the acquire of a slot's bit", LACKS_ACQUIRE_OF_USED, 2, NULL},
    {"the heavy fence", LACKS_HEAVY_FENCE, 0, NULL},
    {"a fence that begins after step 8", LACKS_NOTHING, 7, "FENCE_UNDER_WAY_COUNTS"},
};

/* Returns whether the scenario shows the error on one of the memories. */
static bool shows(const struct lacking *l)
{
	struct explored e = {0};

	lack = l->lack;
	glock__mutant = l->mutant ? mutant_named(l->mutant) : 0;
	for (int arm = 0; arm < 2 && !e.wrong; arm++)
		e = explore(&scenarios[l->scenario], arm, ~0ul);
	printf("# without %s: %s\n", l->what, e.wrong ? e.wrong : "nothing is wrong");
	lack = LACKS_NOTHING;
	glock__mutant = 0;
	return e.wrong;
}

/* Explores up to so many executions. */
static bool right(const struct scenario *s, bool arm, unsigned long most)
{
	struct explored e = explore(s, arm, most);

	printf("# %s, %s: %lu executions%s, %lu states: %s\n", s->name, arm ? "ARM" : "TSO",
	       e.executions, e.complete ? "" : " of more", e.states, e.wrong ? e.wrong : "right");
	return !e.wrong;
}

/* Scenarios are chosen by a part of their name, or by their number of threads. */
static bool is_wanted(const struct scenario *s, const char *only)
{
	return strstr(s->name, only) || strtoul(only, NULL, 10) == s->threads;
}

/* Explores scenario i, or shows that it needs the fence that is taken out. Prints a line of TAP. */
static bool test(bool lacks, size_t i, unsigned long most, unsigned int number)
{
	const struct scenario *s = &scenarios[i];
	bool ok = lacks ? shows(&lacking[i]) : right(s, false, most) && right(s, true, most);

	printf("%sok %u - %s%s\n", ok ? "" : "not ", number, lacks ? "without " : "",
	       lacks ? lacking[i].what : s->name);
	fflush(stdout);
	return ok;
}

int main(int argc, char **argv)
{
	bool lacks = argc > 1 && !strcmp(argv[1], "lacks");
	unsigned long most = argc > 3 ? strtoul(argv[3], NULL, 10) : ~0ul;
	size_t n = lacks ? ARRAY_SIZE(lacking) : ARRAY_SIZE(scenarios);
	const char *only = argc > 2 ? argv[2] : getenv("GLOCK_ONLY"); /* see tests/mutate */
	unsigned int number = 0, failed = 0;

	setenv("GLOCK_BIAS_AFTER", "1", 1);
	mallopt(M_PERTURB, 0xff); /* memory begins with zeros, so that executions can be compared */
	for (size_t i = 0; i < n; i++)
		if (!only || lacks || is_wanted(&scenarios[i], only))
			failed += !test(lacks, i, most, ++number);
	printf("1..%u\n", number);
	return failed || !number;
}
