/* SPDX-License-Identifier: MIT */
/*
 * choose.c - chooses one of several equal glocks, and says what is known of a glock.
 *
 * An answer needs no request. It comes from three sources: the state of each glock on this node,
 * the kernel's estimators, and struct glock__choice_policy. choice.h has the arithmetic.
 *
 * The usual answer is the glock of the last answer, if it is still cached and free. The thread
 * remembers its index, so this answer takes no lock and no clock. After some answers in a row, and
 * when that glock is not free, glock_choose() looks at all glocks. It takes the lock of one glock
 * at a time, for a few instructions.
 */
#include "glock-choose.h"

#include "glock/core/lent.h"
#include "glock/core/notify.h"
#include "glock/core/space.h"
#include "glock/fast/word.h"
#include "glock/state/cache.h"
#include "glock/state/queue.h"
#include "glock/stats/choice.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

/*
 * A glock counts as slow if its use time is more than so many times the shortest one. Half of the
 * deviation is subtracted, because use times vary by chance.
 */
#define SLOW_TIMES 2.5
enum { QUICK_TIMES = 8, DOUBLINGS = 6 };
/* Answers in a row without a look at all glocks; each n / LOOKS_SHARE adds one. */
enum { SAME_ANSWERS = 64, LOOKS_SHARE = 8, USES_SETTLED = 8, NEARBY = 64 };
/*
 * The pause before a node learns the use time of one more glock. Each known one doubles the pause.
 * From EXPLORED known ones on the pause is EXPLORE_NS.
 */
enum { EXPLORED = 6 };
#define EXPLORE_SOON_NS 16000000ll
#define EXPLORE_NS 1000000000ll
#define FETCH_NS 10000000ll

enum place { FREE_HERE, HELD_HERE, ELSEWHERE };

/* One glock, as glock_choose() sees it. */
struct view {
	enum place place;
	bool moving;  /* a change of state is in flight */
	bool refused; /* a try failed lately */
	bool settled; /* its use time was measured often enough */
	int64_t path; /* a request and its answer, as the kernel's srtt tells; 0: not known */
	int64_t wait; /* until the lock manager grants a request; -1: not known */
	int64_t use;  /* -1: not known */
	int64_t wait_var, use_var;
	unsigned int queue; /* holders and waiters of this node */
};

/* ---- one glock ---- */

/* Tells whether the calling thread has the glock by a bias, and does not hold it. */
static bool is_free_by_bias(const struct glock *gl, enum glock_mode mode)
{
	struct glock__thread *t = glock__tls()->fast.thread;
	const struct glock__slot *s = t ? glock__slot_of_bias(t, gl) : NULL;

	return s && !(t->used & s->bit) && glock__bias_admits(s, gl, mode);
}

/* Tells whether the word alone shows that the glock is cached and free. */
static bool is_free_by_word(const struct glock *gl, enum glock_mode mode)
{
	uint64_t word = atom_load64(&gl->fast);

	if (is_free_by_bias(gl, mode))
		return true;
	if (mode == GLOCK_SH)
		return word & GLOCK__FAST_OPEN && !(word & GLOCK__FAST_ANY_EX);
	return mode == GLOCK_EX && word & GLOCK__FAST_OPEN_EX &&
	       !(word & (GLOCK__FAST_ANY_EX | GLOCK__FAST_ANY_SH));
}

/* Counts holders and waiters. *joins: a request in this mode may join all of them. */
static unsigned int count_queue(const struct glock *gl, enum glock_mode mode, bool *joins)
{
	uint64_t word = atom_load64(&gl->fast);
	unsigned int n = (unsigned int)((word & GLOCK__FAST_ANY_SH) / GLOCK__FAST_SH +
					(word & GLOCK__FAST_ANY_EX) / GLOCK__FAST_EX);
	struct glock__holder *gh = NULL;

	*joins = mode == GLOCK_SH && !(word & GLOCK__FAST_ANY_EX);
	while ((gh = glock__next_holder(gl, gh))) {
		n++;
		*joins &= gh_state(gh) & GLOCK__H_HOLDER &&
			  glock__holder_admits(gh->mode, gh->flags, mode, 0);
	}
	*joins |= !n;
	return n;
}

static enum place place_of(const struct glock *gl, enum glock_mode mode, bool joins, bool moving)
{
	if (!glock__state_serves(gl->state, mode, 0) || gl->flags & GLOCK__F_STALE ||
	    gl->flags & (GLOCK__F_DEMOTE | GLOCK__F_DEMOTE_IN_PROGRESS))
		return ELSEWHERE;
	return joins && !moving ? FREE_HERE : HELD_HERE;
}

/* Returns the time since the last request. Another process may have written to the record. */
static int64_t age_of(const struct glock__record *r, int64_t now)
{
	return r->stats.v[GLOCK__DCOUNT] ? (int64_t)((uint64_t)now - (uint64_t)r->stamp) : 0;
}

/*
 * Looks at a glock under its lock. Does not attach the busy part, because most glocks of a long
 * list are idle.
 */
static struct view look_at(struct glock *gl, enum glock_mode mode, int64_t now)
{
	static const struct glock__choice_policy none;
	const struct glock__record *r = gl_record(gl);
	const struct glock__choice_policy *c = &none;
	struct view v = {.wait = 0};
	bool joins;

	glock__lock_take(&gl->lock);
	if (gl->flags & GLOCK__F_BUSY && glock__busy_of(gl)->lent)
		c = &glock__busy_of(gl)->lent->policy.choice;
	v.queue = count_queue(gl, mode, &joins);
	v.moving = gl->flags & GLOCK__F_GOING_ON & ~(GLOCK__F_PENDING_DEMOTE | GLOCK__F_ENTERED);
	v.place = place_of(gl, mode, joins, v.moving);
	v.use = glock__choice_use(c);
	v.use_var = v.use < 0 ? -1 : (int64_t)c->use_var;
	v.settled = c->uses >= USES_SETTLED;
	v.refused = glock__choice_refused(c, now);
	v.wait_var = 0;
	if (v.place == ELSEWHERE) {
		v.wait = glock__choice_wait(&r->stats, c, age_of(r, now));
		v.wait_var = v.wait < 0 ? -1 : r->stats.v[GLOCK__SRTTVARB];
		v.path = r->stats.v[GLOCK__SRTT] > 0 ? r->stats.v[GLOCK__SRTT] : 0;
	}
	glock__lock_drop(&gl->lock);
	return v;
}

static void measure_next(struct glock *gl, bool again)
{
	gl_lock(gl);
	glock__lend(gl);
	glock__measure_next(gl, again);
	gl_unlock(gl);
}

/* ---- all glocks ---- */

/* A walk through all glocks, and its findings. */
struct walk {
	struct glock *const *glocks;
	size_t n, start, dice;
	enum glock_mode mode;
	unsigned int flags;
	int64_t now, shortest_before;
	int64_t shortest;   /* the shortest known use time; 0: none */
	unsigned int known; /* glocks whose use time is known */
	bool found, can_explore, can_fetch;
	size_t best, explore, fetch;
	struct view best_view, explore_view, fetch_view;
	unsigned int best_class;
};

static bool is_slow(const struct walk *w, const struct view *v)
{
	return v->use > 0 && w->shortest_before &&
	       (double)v->use - (double)v->use_var / 2 > SLOW_TIMES * (double)w->shortest_before;
}

/* Returns the class of a glock, the best first; CLASSES: not to be chosen. */
enum { CLASSES = 4 };
static unsigned int class_of(const struct walk *w, const struct view *v)
{
	bool slow = is_slow(w, v);

	if (v->place == FREE_HERE && !slow)
		return 0;
	if (!(w->flags & GLOCK_CHOOSE_TRY))
		return 1; /* the sum of wait and use decides */
	if (v->place == FREE_HERE)
		return 2;
	if (v->place == HELD_HERE || v->queue || v->moving || v->refused)
		return CLASSES; /* the try would fail */
	return slow ? 3 : 1;
}

/*
 * Returns the time from the request to the release. An unknown part counts as short as possible. If
 * a thread of this node waits for the lock manager already, one more gains nothing: its wait counts
 * double. So the threads of a node without a glock ask for different ones.
 */
static int64_t cost_of(const struct walk *w, const struct view *v)
{
	int64_t use = v->use < 0 ? w->shortest_before : v->use;
	unsigned int doublings = v->queue < DOUBLINGS ? v->queue : DOUBLINGS;
	int64_t wait = v->wait < 0 ? v->path : v->wait;

	if (v->place != ELSEWHERE)
		return use * (1 + (int64_t)v->queue);
	if (wait > (INT64_MAX - use) >> DOUBLINGS)
		return INT64_MAX;
	return (wait << doublings) + use;
}

/* Returns how far index i lies behind `from`, around the end of the list. */
static size_t distance(const struct walk *w, size_t from, size_t i)
{
	return i >= from ? i - from : i + w->n - from;
}

static bool is_better(const struct walk *w, size_t i, const struct view *v, unsigned int class)
{
	const struct view *best = &w->best_view;
	int64_t cost = cost_of(w, v), best_cost = cost_of(w, best);

	if (!w->found || class != w->best_class)
		return !w->found || class < w->best_class;
	if (class == 0) /* the walk begins at the last answer, which stays if it is good */
		return false;
	if (cost != best_cost)
		return cost < best_cost;
	if (v->queue != best->queue)
		return v->queue < best->queue;
	/* Nodes that know nothing must not all choose the same glock. */
	return distance(w, w->dice, i) < distance(w, w->dice, w->best);
}

static void consider(struct walk *w, size_t i)
{
	const struct view v = look_at(w->glocks[i], w->mode, w->now);
	unsigned int class = class_of(w, &v);

	if (v.use >= 0) {
		w->known++;
		if (!w->shortest || v.use < w->shortest)
			w->shortest = v.use ? v.use : 1;
	}
	if (class < CLASSES && is_better(w, i, &v, class)) {
		w->found = true;
		w->best = i;
		w->best_view = v;
		w->best_class = class;
	}
	if (v.place == ELSEWHERE && !v.queue && !v.moving && !is_slow(w, &v) &&
	    (!w->can_fetch || cost_of(w, &v) < cost_of(w, &w->fetch_view))) {
		w->can_fetch = true;
		w->fetch = i;
		w->fetch_view = v;
	}
	/* Of unknown use time, or slow: to be tried now and then. */
	if ((class == 1 && v.use < 0) || class == 2 || class == 3) {
		bool fresh = v.use < 0, before = w->explore_view.use < 0;

		if (!w->can_explore || fresh > before ||
		    (fresh == before &&
		     distance(w, w->dice, i) < distance(w, w->dice, w->explore))) {
			w->can_explore = true;
			w->explore = i;
			w->explore_view = v;
		}
	}
}

/*
 * Decides whether this answer is for learning. A node that never looks elsewhere cannot know that
 * its glock is slow. The pauses hold for the whole node.
 */
static bool is_to_explore(struct walk *w, struct glock__type *t)
{
	uint64_t at = atom_load64(&t->explore_at);
	int64_t path = w->explore_view.wait > 0 ? w->explore_view.wait : 0;
	int64_t pause = EXPLORE_NS;

	if (!at) { /* not at first, when each node still looks for its own glock */
		atom_cas64(&t->explore_at, &at, (uint64_t)(w->now + EXPLORE_SOON_NS));
		return false;
	}
	if (!(w->flags & GLOCK_CHOOSE_TRY) || !w->can_explore || !w->found || w->best_class ||
	    w->best_view.use < 0 || w->now < (int64_t)at)
		return false;
	if (w->known < EXPLORED)
		pause = EXPLORE_SOON_NS << w->known;
	if (path < INT64_MAX / 128)
		pause += 64 * path;
	return atom_cas64(&t->explore_at, &at, (uint64_t)(w->now + pause));
}

/*
 * Decides whether a thread is to wait for one more glock. The glocks of this node are slow, or have
 * waiters already. The thread loses little, because the waiters keep those glocks in use. A glock
 * that comes quickly was idle on its node. Any other glock is taken from a node that uses it. Such
 * a change helps no node in the long run, so it happens rarely.
 */
static bool is_to_fetch(const struct walk *w, struct glock__type *t)
{
	const struct view *v = &w->best_view, *other = &w->fetch_view;
	int64_t now = w->now, wait = other->wait > 0 ? other->wait : 0;
	uint64_t at = atom_load64(&t->fetch_at);
	bool quick = wait / QUICK_TIMES <= other->path;

	if (!w->can_fetch || !w->found || v->place == ELSEWHERE || wait > INT64_MAX / 128 ||
	    (v->place == FREE_HERE && !is_slow(w, v)) || (v->place == HELD_HERE && v->queue < 2))
		return false;
	if (now - (int64_t)at < (quick ? 0 : EXPLORE_NS + 64 * wait))
		return false;
	/* With TRY the caller calls again without TRY, and gets the answer then. */
	return w->flags & GLOCK_CHOOSE_TRY ||
	       atom_cas64(&t->fetch_at, &at, (uint64_t)(now + FETCH_NS + 32 * wait));
}

static size_t mix(uint64_t x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return (size_t)(x ^ x >> 31);
}

/* Looks at all glocks, and has the next use of the chosen one measured. */
static int choose_of_all(struct walk *w, struct glock_space *space, struct glock__chooser *last)
{
	struct glock__type *t = &space->types[w->glocks[w->start]->type];
	bool again = false;

	w->now = glock__now(space);
	w->dice = mix((uint64_t)w->now ^ (uint64_t)glock__thread_number() << 40) % w->n;
	w->shortest_before = (int64_t)atom_load64(&t->shortest_use);
	for (size_t k = 0, i = w->start; k < w->n; k++, i = i + 1 < w->n ? i + 1 : 0)
		if (w->glocks[i])
			consider(w, i);
	if (w->shortest)
		atom_store64(&t->shortest_use, (uint64_t)w->shortest);
	if (is_to_explore(w, t)) {
		w->best = w->explore;
		w->best_view = w->explore_view;
		again = w->explore_view.use >= 0;
	}
	if (is_to_fetch(w, t)) {
		if (w->flags & GLOCK_CHOOSE_TRY)
			return -EAGAIN; /* the next call, without TRY, returns it */
		w->best = w->fetch;
		w->best_view = w->fetch_view;
	}
	if (!w->found)
		return -EAGAIN;
	measure_next(w->glocks[w->best], again);
	last->index = (uint32_t)w->best;
	last->left = 0;
	if (w->best_view.settled && !again)
		last->left = (uint32_t)(SAME_ANSWERS + w->n / LOOKS_SHARE);
	return (int)w->best;
}

/* Returns the index of a glock near the last answer that is cached and free, or -1. */
static int choose_nearby(struct glock *const *glocks, size_t n, enum glock_mode mode,
			 struct glock__chooser *last)
{
	size_t i = last->index;

	for (size_t k = 0; k < NEARBY && k < n && last->left; k++, i = i + 1 < n ? i + 1 : 0) {
		if (!glocks[i] || !is_free_by_word(glocks[i], mode))
			continue;
		if (k) {
			const struct view v = look_at(glocks[i], mode, 0);
			struct glock__type *t = &gl_space(glocks[i])->types[glocks[i]->type];
			const struct walk w = {.shortest_before =
						   (int64_t)atom_load64(&t->shortest_use)};

			if (v.place != FREE_HERE || !v.settled || is_slow(&w, &v))
				continue;
			last->index = (uint32_t)i;
		}
		last->left--;
		return (int)i;
	}
	return -1;
}

/* Checks the call. Returns the first glock of the list in *first. */
static int check_choice(size_t n, struct glock *const *glocks, enum glock_mode mode,
			unsigned int flags, struct glock **first)
{
	size_t i = 0;
	int err;

	while (i < n && !glocks[i])
		i++;
	if (i == n || n > INT_MAX)
		return -EINVAL;
	*first = glocks[i];
	err = glock__check(gl_space(*first), "glock_choose");
	if (err)
		return err;
	if (flags & ~GLOCK_CHOOSE_TRY || mode <= GLOCK_UN || mode >= GLOCK_MODE_MAX ||
	    !(gl_type(*first)->info.modes & GLOCK__MODES(mode)))
		return -EINVAL;
	return glock__is_unusable(gl_space(*first)) ? -EIO : 0;
}

int glock_choose(size_t n, struct glock *const *glocks, enum glock_mode mode, unsigned int flags)
{
	struct glock__chooser *last = &glock__tls()->chooser;
	struct glock *first;
	int i, err = check_choice(n, glocks, mode, flags, &first);
	struct walk w = {.glocks = glocks, .n = n, .mode = mode, .flags = flags};

	if (err)
		return err;
	if (last->glocks != glocks || last->n != n) {
		*last = (struct glock__chooser){.glocks = glocks, .n = n};
		w.start =
		    mix(glock__thread_number() ^
			(uint64_t)gl_space(first)->env.random(gl_space(first)->env.arg) << 20) %
		    n;
	} else {
		i = choose_nearby(glocks, n, mode, last);
		if (i >= 0)
			return i;
		w.start = last->index;
	}
	for (size_t k = 0; k < n; k++) {
		if (!glocks[k])
			continue;
		if (glocks[k]->type != first->type || gl_space(glocks[k]) != gl_space(first))
			return -EINVAL;
	}
	while (!glocks[w.start])
		w.start = w.start + 1 < n ? w.start + 1 : 0;
	return choose_of_all(&w, gl_space(first), last);
}

/* ---- what is known ---- */

int glock_forecast(struct glock *gl, enum glock_mode mode, struct glock_forecast *out)
{
	static const enum glock_place places[] = {[FREE_HERE] = GLOCK_PLACE_FREE,
						  [HELD_HERE] = GLOCK_PLACE_HELD,
						  [ELSEWHERE] = GLOCK_PLACE_ELSEWHERE};
	struct glock_space *space = gl_space(gl);
	struct glock_forecast f = {.size = out->size};
	int err = glock__check(space, "glock_forecast");
	struct view v;

	if (err)
		return err;
	err = glock__check_size(space, "glock_forecast", out->size,
				GLOCK__FIRST_SIZE(glock_forecast, queue));
	if (err)
		return err;
	if (mode <= GLOCK_UN || mode >= GLOCK_MODE_MAX ||
	    !(gl_type(gl)->info.modes & GLOCK__MODES(mode)))
		return -EINVAL;
	v = look_at(gl, mode, glock__now(space));
	f.place = places[v.place];
	f.refused = v.refused;
	f.wait = v.wait;
	f.wait_var = v.wait_var;
	/* Each holder and waiter of this node comes first, and uses the glock for its use time. */
	if (v.queue && v.place != FREE_HERE) {
		f.wait = v.use < 0 || v.wait < 0 ? -1 : v.wait + v.use * (int64_t)v.queue;
		f.wait_var = f.wait < 0 ? -1 : v.wait_var + v.use_var;
	}
	f.use = v.use;
	f.use_var = v.use_var;
	f.queue = v.queue;
	memcpy(out, &f, out->size < sizeof(f) ? out->size : sizeof(f));
	return 0;
}

int glock_congested(struct glock *gl)
{
	struct glock_space *space = gl_space(gl);
	int err = glock__check(space, "glock_congested"), congested;
	struct glock__stats type, s;

	if (err)
		return err;
	type = glock__type_stats_sum(&space->type_stats, gl->type);
	glock__lock_take(&gl->lock);
	s = gl_record(gl)->stats;
	glock__lock_drop(&gl->lock);
	congested = glock__choice_congested(&s, &type);
	return congested < 0 ? -ENODATA : congested;
}
