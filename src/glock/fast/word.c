/* SPDX-License-Identifier: MIT */
/*
 * word.c - opens and closes the word of a glock, and finds the holders in slots. It moves a holder
 * between the list and a slot.
 */
#include "word.h"

#include "bias.h"
#include "glock/publish/publish_space.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { PATIENCE = 200 };

/* ---- open and closed ---- */

void glock__fast_add_uses(struct glock *gl, const int64_t uses[2])
{
	int64_t sh = uses[glock__slot_mode(GLOCK_SH)], ex = uses[glock__slot_mode(GLOCK_EX)];

	if (!sh && !ex)
		return;
	glock__stats_queued(&glock__record_edit(gl)->stats, &gl_space(gl)->type_stats, gl->type,
			    sh + ex);
	glock__publish_granted(gl, GLOCK_SH, sh);
	glock__publish_granted(gl, GLOCK_EX, ex);
	glock__hold_count(gl, GLOCK_SH, sh);
	glock__hold_count(gl, GLOCK_EX, ex);
}

void glock__fast_add_sum(struct glock *gl, const struct glock__bias_sum *sum)
{
	uint64_t holders = sum->holders[glock__slot_mode(GLOCK_SH)] * GLOCK__FAST_SH +
			   sum->holders[glock__slot_mode(GLOCK_EX)] * GLOCK__FAST_EX;

	if (holders)
		atom_add64(&gl->fast, holders);
	glock__fast_add_uses(gl, sum->uses);
}

static void fold(struct glock *gl, bool slots)
{
	uint64_t word = glock__fast_counted(gl);
	int64_t sh = glock__fast_granted_sh(word), ex = glock__fast_granted_ex(word);
	struct glock__bias_sum sum = {0};

	assert(gl_held(gl));
	if (sh || ex)
		atom_sub64(&gl->fast, (uint64_t)sh * GLOCK__FAST_COUNT_SH +
					  (uint64_t)ex * GLOCK__FAST_COUNT_EX);
	if (slots)
		glock__bias_fold(gl, &sum);
	sum.uses[glock__slot_mode(GLOCK_SH)] += sh;
	sum.uses[glock__slot_mode(GLOCK_EX)] += ex;
	glock__fast_add_uses(gl, sum.uses);
}

void glock__fast_fold(struct glock *gl)
{
	fold(gl, gl_busy(gl)->bias);
}

void glock__fast_bias(struct glock *gl, enum glock_mode mode)
{
	uint64_t base = glock__fast_base(gl);

	assert(gl_held(gl));
	gl_busy(gl)->bias = gl_busy(gl)->more->bias = (uint8_t)mode;
	if (mode == GLOCK_EX)
		atom_add64(&gl->fast, GLOCK__FAST_EX);
	else
		atom_add64(&gl->fast, glock__fast_base(gl) - base); /* the word is open */
}

void glock__fast_unbias(struct glock *gl)
{
	assert(gl_held(gl));
	atom_sub64(&gl->fast, gl_busy(gl)->bias == GLOCK_EX ? GLOCK__FAST_EX : GLOCK__FAST_SH);
	gl_busy(gl)->bias = gl_busy(gl)->more->bias = GLOCK_UN;
	gl_busy(gl)->fence = 0;
}

/* Begins to end the bias. */
GLOCK__COLD static void revoke_bias(struct glock *gl)
{
	struct glock__busy *b = gl_busy(gl);

	if (b->bias == GLOCK_SH)
		atom_add64(&gl->fast, GLOCK__FAST_SH);
	b->fence = glock__bias_refuse(gl);
	b->more->bias = GLOCK_UN;
}

void glock__fast_shut_open(struct glock *gl)
{
	uint64_t open = atom_load64(&gl->fast) & GLOCK__FAST_OPEN_BITS;

	if (gl_busy(gl)->bias && !gl_busy(gl)->fence)
		revoke_bias(gl);
	if (!open)
		return;
	atom_sub64(&gl->fast, open + glock__fast_base(gl));
	fold(gl, false);
}

/*
 * A glock with PENDING_DEMOTE is used as before until its hold time is over. While the object has
 * to be read in, each holder goes by the queue, which does so.
 */
#define IN_THE_WAY                                                                   \
	((GLOCK__F_GOING_ON & ~(uint32_t)GLOCK__F_PENDING_DEMOTE) | GLOCK__F_STALE | \
	 GLOCK__F_INSTANTIATE_NEEDED)

struct glock__holder *glock__next_holder(const struct glock *gl, struct glock__holder *gh)
{
	struct glock__list *head, *l;

	if (!(gl->flags & GLOCK__F_BUSY))
		return NULL;
	head = &glock__busy_of(gl)->holders;
	l = gh ? gh->list.next : head->next;
	return l == head ? NULL : glock__entry(l, struct glock__holder, list);
}

struct glock__holder *glock__first_waiter(struct glock *gl)
{
	struct glock__list *head = &gl_busy(gl)->holders;
	struct glock__holder *first = NULL;

	assert(gl_held(gl));
	for (struct glock__list *l = head->prev; l != head; l = l->prev) {
		struct glock__holder *gh = glock__entry(l, struct glock__holder, list);

		if (gh_state(gh) & GLOCK__H_HOLDER)
			break;
		first = gh;
	}
	return first;
}

/*
 * Tells whether a new holder may ignore all holders in the list. Such a holder is granted in SH. It
 * does not belong to a thread, so that recursion is no question.
 */
static bool list_is_harmless(const struct glock *gl)
{
	struct glock__holder *gh = NULL;

	while ((gh = glock__next_holder(gl, gh)))
		if (!(gh_state(gh) & GLOCK__H_HOLDER) || gh->mode != GLOCK_SH ||
		    glock__is_threads(gh))
			return false;
	return true;
}

static bool may_open(struct glock *gl)
{
	struct glock_space *space = gl_space(gl);
	const struct glock__busy *b;

	/* held: the lock manager asks for a call when the first holders after a grant are gone. */
	if (gl->flags & IN_THE_WAY || gl->lk.held ||
	    (gl->state != GLOCK_SH && gl->state != GLOCK_EX))
		return false;
	b = gl_busy(gl);
	if (!space->fast || !gl_type(gl)->fast || b->must_run || b->target != gl->state ||
	    glock__is_kept_back(gl))
		return false;
	/* The fast path reads no clock. And the policy of the hold time sees each use meanwhile. */
	if (b->measure_next || b->measured || glock__hold_sees_uses(gl))
		return false;
	if (glock__is_unusable(space) || atom_load8(&space->closing) || glock__grants_paused(space))
		return false;
	return list_is_harmless(gl);
}

/* Copies the remembered death to the word. Holders in SH read it there. */
static void update_died(struct glock *gl)
{
	bool died = gl->flags & GLOCK__F_DIED;

	if (died == !!(atom_load64(&gl->fast) & GLOCK__FAST_DIED))
		return;
	if (died)
		atom_or64(&gl->fast, GLOCK__FAST_DIED);
	else
		atom_and64(&gl->fast, ~GLOCK__FAST_DIED);
}

/* Returns the bits of an open word, by the state of the glock and its list. */
static uint64_t open_bits(const struct glock *gl)
{
	struct glock__holder *gh = NULL;

	if (gl->state == GLOCK_EX && !glock__next_holder(gl, NULL) && !(gl->flags & GLOCK__F_DIED))
		return GLOCK__FAST_OPEN | GLOCK__FAST_OPEN_EX;
	while ((gh = glock__next_holder(gl, gh)))
		if (glock__is_owners(gh))
			return GLOCK__FAST_OPEN | GLOCK__FAST_OWNED;
	return GLOCK__FAST_OPEN;
}

/* Tells whether the bias may go on. `open`: the bits of a word without a bias. */
static bool may_keep_bias(const struct glock *gl, uint64_t open)
{
	if (gl_busy(gl)->bias == GLOCK_EX && !(open & GLOCK__FAST_OPEN_EX))
		return false;
	return !(gl->flags & GLOCK__F_PENDING_DEMOTE);
}

void glock__fast_update(struct glock *gl)
{
	struct glock__busy *b = gl_busy(gl);
	uint64_t open;

	assert(gl_held(gl));
	update_died(gl);
	if (!may_open(gl)) {
		glock__fast_shut(gl);
		return;
	}
	open = open_bits(gl);
	if (b->bias) {
		if (!may_keep_bias(gl, open))
			glock__fast_shut(gl);
		if (b->fence)
			return; /* the holders are not known */
		open &= ~(uint64_t)GLOCK__FAST_OPEN_EX;
	}
	if ((atom_load64(&gl->fast) & GLOCK__FAST_OPEN_BITS) == open)
		return;
	if (!b->bias)
		glock__fast_shut(gl);
	atom_add64(&gl->fast, open + glock__fast_base(gl));
}

/* ---- the holders in slots ---- */

static unsigned int count_of(uint64_t word)
{
	return (unsigned int)((word & GLOCK__FAST_ANY_SH) / GLOCK__FAST_SH +
			      (word & GLOCK__FAST_ANY_EX) / GLOCK__FAST_EX);
}

void glock__fast_each(struct glock *gl, glock__fast_fn *fn, void *arg)
{
	struct glock__fast_holder few[16], *list = few;
	size_t there = 0, n = 0, room = sizeof(few) / sizeof(*few);

	assert(gl_held(gl) && !glock__fast_is_open(gl) && !gl_busy(gl)->bias);
	/*
	 * A thread in a slot and not in the word, or the reverse, is about to take its next step.
	 */
	for (unsigned int i = 0; i < PATIENCE; i++) {
		there = count_of(atom_load64(&gl->fast));
		if (!there)
			return;
		if (there > room) {
			room = 2 * there;
			list = realloc(list == few ? NULL : list, room * sizeof(*list));
		}
		if (!list)
			return; /* without memory no holder can be found: act as without holders */
		n = glock__slots_of(gl, list, room);
		if (n == there)
			break;
		glock__back_off(i);
	}
	for (size_t i = 0; i < n && i < room; i++)
		fn(gl, &list[i], arg);
	if (list != few)
		free(list);
}

struct glock__holder *glock__fast_mine(const struct glock *gl)
{
	struct glock__thread *t = glock__thread_in(gl_space(gl));
	const struct glock__slot *s = t ? glock__slot_with(t, gl) : NULL;

	return s ? s->gh : NULL;
}

/* ---- between list and slots ---- */

void glock__fast_to_slot(struct glock *gl, struct glock__holder *gh)
{
	struct glock__movable *m = NULL;
	struct glock__thread *t;
	struct glock__slot *s = NULL;

	assert(gl_held(gl) && gh_state(gh) & GLOCK__H_HOLDER);
	assert(!(gh->flags & ~GLOCK__MOVABLE_FLAGS));
	if (gl_busy(gl)->bias || !gl_space(gl)->fast || !gl_type(gl)->fast ||
	    atom_load32(&gl_space(gl)->traced) || gl->lk.held ||
	    (gh->mode != GLOCK_SH && gh->mode != GLOCK_EX) || gh_state(gh) & GLOCK__H_LOST ||
	    (gh_state(gh) & GLOCK__H_DIED && gh->mode != GLOCK_SH) || gl_busy(gl)->measured == gh)
		return;
	t = glock__thread_in(gl_space(gl));
	if (t && !glock__is_threads(gh))
		m = glock__movable_free(t);
	else if (t && gh->owner == t->owner)
		s = glock__slot_free(t);
	if (!m && !s)
		return;
	glock__fast_shut(gl);
	glock__list_del(&gh->list);
	glock__publish_unlinked(gl, gh, glock__spare_of(gl_space(gl)));
	atom_add64(&gl->fast, glock__fast_one(gh));
	atom_or32(&gh->state, GLOCK__H_FAST | (m ? GLOCK__H_MOVABLE : 0));
	if (m) {
		glock__movable_write(t, m, gl, gh, gh->where);
		glock__movable_use(m, gh);
		return;
	}
	gh->slot = s->number;
	glock__slot_fill(t, s, gl, gh, gh->where);
	glock__slots_use(t, t->record, t->used | s->bit);
}

void glock__fast_to_list(struct glock *gl, struct glock__holder *gh)
{
	bool movable = gh_state(gh) & GLOCK__H_MOVABLE;
	struct glock__thread *t =
	    movable ? glock__movable_thread(gh->at) : glock__thread_in(gl_space(gl));
	struct glock__slot *s;

	assert(gl_held(gl) && gh_state(gh) & GLOCK__H_FAST);
	assert(movable || glock__fast_is_mine(t, gh));
	gh->error = 0;
	gh->owner = gh->flags & GLOCK__OWNED ? gh->owner : t->owner;
	gh->pid = t->tid;
	memcpy(gh->comm, t->comm, sizeof(gh->comm));
	if (movable) {
		glock__movable_leave(gh->at);
		glock__movable_left(gh);
	} else {
		s = glock__slot_of(t, gh);
		s->claimed = false; /* the word counts the holder already */
		glock__slot_empty(t, s);
	}
	atom_and32(&gh->state, ~(GLOCK__H_FAST | GLOCK__H_BIASED | GLOCK__H_MOVABLE));
	glock__list_add(gl_busy(gl)->holders.next, &gh->list);
	gh->asked = gl_now(gl); /* the fast path did not read the clock */
	glock__publish_queued(gl, gh, glock__spare_of(gl_space(gl)));
	glock__publish_holder(gl, gh, gh_state(gh));
	atom_sub64(&gl->fast, glock__fast_one(gh));
}
