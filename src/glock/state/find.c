/* SPDX-License-Identifier: MIT */
/*
 * find.c - the glocks of a space: getting one, putting it, walking over all.
 *
 * A look-up of a glock that exists takes the lock of that glock only (hash.h). It stores to the
 * glock and its record. So threads that look for different glocks share no cache line.
 *
 * There is at most one glock of a type and number. A glock at UN without references leaves the
 * table under the same lock under which it could be found. Only after that its lock is unlocked at
 * the lock manager. Meanwhile a new glock of the same name may appear, with a lock of its own.
 */
#include "find.h"

#include "glock/core/hash.h"
#include "glock/core/space.h"

#include "busy.h"
#include "cache.h"
#include "glock/fast/word.h"
#include "show.h"
#include "work.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 64 };

static struct glock *new_glock(struct glock_space *space, unsigned int type, uint64_t number)
{
	bool lvb = space->types[type].flags & GLOCK_OPS_LVB;
	struct glock__slab *slab = &space->glocks[lvb];
	uint32_t n = glock__slab_get(slab);
	struct glock__record *r;
	struct glock *gl;

	if (!n)
		return NULL;
	gl = glock__slab_at(slab, n);
	glock__lock_take(&gl->lock);
	gl->fast = 0;
	atom_store64(&gl->number, number);
	atom_store8(&gl->type, (uint8_t)type);
	gl->users = gl->pins = gl->state = 0;
	memset(&gl->object, 0,
	       sizeof(*gl) - offsetof(struct glock, object) + (lvb ? GLOCK_LVB_SIZE : 0));
	gl->flags = GLOCK__F_INITIAL | GLOCK__F_TABLE;
	if (space->types[type].ops.instantiate)
		gl->flags |= GLOCK__F_INSTANTIATE_NEEDED;
	gl->lk.has_lvb = lvb;
	gl->lk.tell_at_once = space->types[type].ops.callback != NULL;
	r = gl_record(gl);
	atom_begin32(&r->seq);
	*r = (struct glock__record){.seq = r->seq, .type = gl->type, .number = number};
	r->demote = GLOCK_EX;
	r->born = glock__now(space);
	glock__stats_inherit(&r->stats, &space->type_stats, type);
	r->flags = GLOCK__F_INITIAL | GLOCK__R_LIVE;
	atom_store32(&r->seq, r->seq + 1);
	glock__lock_drop(&gl->lock);
	return gl;
}

/* Makes a glock, which is not in the table yet. Under space->lock. */
static struct glock *make_glock(struct glock_space *space, unsigned int type, uint64_t number)
{
	uint32_t alive = atom_load32(&space->alive) + 1;
	struct glock *gl;

	if (!glock__hash_reserve(space) || glock__work_reserve(space, alive) ||
	    glock__slab_reserve(&space->busy, alive))
		return NULL;
	gl = new_glock(space, type, number);
	if (!gl)
		return NULL;
	space->n_glocks++;
	atom_add32(&space->alive, 1);
	return gl;
}

static int type_is_unknown(struct glock_space *space, unsigned int type, const char *where)
{
	glock__log(space,
		   "space %s: glock_get() at %s: no type %u; name it in types of the space's "
		   "options, with a number from %u to %u",
		   space->name, where, type, GLOCK_TYPE_OWN, GLOCK_TYPE_MAX - 1);
	return -EINVAL;
}

static void publish_refs(struct glock *gl)
{
	struct glock__record *r = gl_record(gl);

	r->refs = gl_refs(gl);
	r->flags = (r->flags & ~(uint32_t)GLOCK__F_LRU) | (gl->flags & GLOCK__F_LRU);
}

/* Adds a reference of the program. Under gl->lock, which it drops. */
static void add_user(struct glock_space *space, struct glock *gl, const char *where)
{
	gl->users++;
	if (__builtin_expect(space->get_sites != NULL, 0))
		glock__get_sites_add(space->get_sites, gl, where);
	glock__lru_remove(gl);
	publish_refs(gl);
	glock__lock_drop(&gl->lock);
}

/* Finds a glock without a lock of the table. Returns false if that does not do; see hash.h. */
static bool find_quickly(struct glock_space *space, unsigned int type, uint64_t number,
			 struct glock **ret, const char *where)
{
	struct glock *gl = glock__hash_find(space, type, number);

	if (!gl)
		return false;
	/* Only the lock is needed here, and no busy part; see busy.c. */
	glock__lock_take(&gl->lock);
	if (!glock__hash_has(space, gl, type, number)) {
		glock__lock_drop(&gl->lock);
		return false;
	}
	add_user(space, gl, where);
	*ret = gl;
	return true;
}

/* Returns 0 with a reference, -ENOENT or -ESHUTDOWN. */
static int find(struct glock_space *space, unsigned int type, uint64_t number, struct glock **ret,
		const char *where)
{
	struct glock__part *part = glock__lock_part(space, type, number);
	int err = atom_load8(&space->closing) ? -ESHUTDOWN : 0;
	struct glock *gl = err ? NULL : glock__hash_find(space, type, number);

	if (gl) {
		glock__lock_take(&gl->lock);
		add_user(space, gl, where);
	}
	glock__lock_drop(&part->lock);
	*ret = gl;
	return gl ? 0 : err ? err : -ENOENT;
}

/* The glock may be there: another thread may have added it, or find_quickly() missed it. */
static int add(struct glock_space *space, unsigned int type, uint64_t number, struct glock **ret,
	       const char *where)
{
	GLOCK__NO_CANCEL;
	struct glock__part *part;
	int err;

	glock__lock_take(&space->lock);
	err = find(space, type, number, ret, where);
	if (err == -ENOENT) {
		*ret = make_glock(space, type, number);
		err = *ret ? 0 : -ENOMEM;
		if (!err) {
			part = glock__lock_part(space, type, number);
			glock__hash_add(space, *ret);
			glock__lock_take(&(*ret)->lock);
			add_user(space, *ret, where);
			glock__lock_drop(&part->lock);
		}
	}
	glock__lock_drop(&space->lock);
	return err;
}

/*
 * Finds a glock. `make` says whether to add it if it does not exist. `where` is the call site of
 * the program, or a name of the library.
 */
static int find_or_add(struct glock_space *space, unsigned int type, uint64_t number, bool make,
		       struct glock **ret, const char *where)
{
	int err = glock__check(space, "glock_get");

	if (err)
		return err;
	if (type >= GLOCK_TYPE_MAX || !space->types[type].known)
		return make ? type_is_unknown(space, type, where) : -EINVAL;
	if (find_quickly(space, type, number, ret, where))
		return 0;
	return make ? add(space, type, number, ret, where) : find(space, type, number, ret, where);
}

int glock_get_at(struct glock_space *space, unsigned int type, uint64_t number, struct glock **ret,
		 const char *where)
{
	if (type < GLOCK_TYPE_MAX && space->types[type].path)
		return type_is_unknown(space, type, where);
	return find_or_add(space, type, number, true, ret, where);
}

int glock__get_path(struct glock_space *space, uint64_t number, struct glock **ret,
		    const char *where)
{
	return find_or_add(space, GLOCK_RESERVED, number, true, ret, where);
}

int glock__get_there(struct glock_space *space, unsigned int type, uint64_t number,
		     struct glock **ret)
{
	return find_or_add(space, type, number, false, ret, "the library");
}

/* Under gl->lock, which it drops. */
void glock__free(struct glock *gl)
{
	struct glock_space *space = gl_space(gl);
	struct glock__record *r = gl_record(gl);
	uint32_t number = glock__slab_number(gl);
	void *file = gl_type(gl)->path ? gl->object : NULL;

	assert(gl->flags & GLOCK__F_DEAD && !gl_refs(gl));
	if (gl->flags & GLOCK__F_BUSY)
		glock__busy_detach(gl);
	atom_begin32(&r->seq);
	r->flags = 0;
	atom_store32(&r->seq, r->seq + 1);
	gl->flags = 0;
	glock__lock_drop(&gl->lock);
	if (file)
		gl_type(gl)->path->freed(file);
	glock__slab_put(&space->glocks[gl->lk.has_lvb], number);
	atom_sub32(&space->alive, 1);
	glock__wake(space, &space->alive);
}

static void remove_from_table(struct glock_space *space, struct glock *gl)
{
	glock__hash_remove(space, gl);
	gl->flags &= ~(uint32_t)GLOCK__F_TABLE;
	space->n_glocks--;
}

/* The glock is out of the table. Unlocks its lock at the lock manager, then frees the glock. */
static void unlock_and_free(struct glock *gl)
{
	struct glock_space *space = gl_space(gl);
	struct glock__stats_asked rq = {0};
	struct glock__record *r;

	if (!gl->lk.id) {
		glock__free(gl);
		return;
	}
	gl->flags &= ~(uint32_t)GLOCK__F_BLOCKING;
	rq.at = glock__now(space);
	r = glock__record_edit(gl);
	glock__stats_request(&r->stats, &space->type_stats, gl->type, &r->stamp, &rq);
	gl_unlock(gl);
	space->lm->ops->unlock(space->lm, &gl->lk);
}

/*
 * Makes a glock without references idle. Under gl->lock. Returns true if the limits of the LRU list
 * are to be checked.
 */
static bool became_idle(struct glock *gl)
{
	struct glock_space *space = gl_space(gl);

	if (gl_refs(gl) || gl->flags & GLOCK__F_LRU)
		return false;
	glock__lru_add(gl);
	return space->lru.max || space->lru.age;
}

/* A put changes nothing of a busy part that the glock keeps for its bias. */
static bool needs_busy(const struct glock *gl)
{
	return gl->flags & GLOCK__F_BUSY && !glock__busy_of(gl)->more->revocations &&
	       !glock__busy_of(gl)->bias;
}

/*
 * Drops a reference of the program that needs no busy part: another reference is left, or the glock
 * becomes idle. Returns false otherwise, without a change. Under gl->lock, which it drops if true.
 */
static bool put_quickly(struct glock *gl)
{
	struct glock_space *space = gl_space(gl);
	bool trim;

	if (needs_busy(gl) || !gl->users || (gl_refs(gl) == 1 && gl->state == GLOCK_UN))
		return false;
	gl->users--;
	trim = became_idle(gl);
	publish_refs(gl);
	glock__lock_drop(&gl->lock);
	if (trim)
		glock__work_kick(space, glock__lru_trim(space));
	return true;
}

/* Removes the glock from the table if it is at UN without a reference. Under its two locks. */
static bool leaves_table(struct glock *gl)
{
	struct glock_space *space = gl_space(gl);

	if (gl_refs(gl) || gl->state != GLOCK_UN) {
		became_idle(gl);
		return false;
	}
	glock__fast_fold(gl); /* the grant of a refused holder was counted and taken back */
	glock__lru_remove(gl);
	glock__lru_unlink(gl);
	assert(glock__list_empty(&gl_busy(gl)->holders) && !(gl->flags & GLOCK__F_LOCK));
	remove_from_table(space, gl);
	gl->flags |= GLOCK__F_DEAD;
	glock__trace_put(gl);
	return true;
}

/* Drops one reference: of a user, or a pin. */
static void put_locked(struct glock *gl, bool user)
{
	struct glock_space *space = gl_space(gl);
	struct glock__part *part;
	bool trim, dead;

	assert(gl_held(gl) && (user ? gl->users : gl->pins));
	if (gl_refs(gl) > 1 || gl->state != GLOCK_UN) {
		gl->users -= user;
		gl->pins -= !user;
		trim = became_idle(gl);
		gl_unlock(gl);
		if (trim)
			glock__work_kick(space, glock__lru_trim(space));
		return;
	}
	/*
	 * This is the last reference. Drop it under the locks of the table, because another thread
	 * could find the glock meanwhile.
	 */
	gl_unlock(gl);
	glock__lock_take(&space->lock);
	part = glock__lock_part(space, gl->type, gl->number);
	gl_lock(gl);
	gl->users -= user;
	gl->pins -= !user;
	dead = leaves_table(gl);
	if (!dead)
		gl_unlock(gl);
	glock__lock_drop(&part->lock);
	glock__lock_drop(&space->lock);
	if (dead)
		unlock_and_free(gl);
}

void glock__put_locked(struct glock *gl)
{
	put_locked(gl, false);
}

void glock_put(struct glock *gl)
{
	if (glock__check(gl_space(gl), "glock_put"))
		return;
	if (gl_type(gl)->path)
		gl_type(gl)->path->put(gl);
	glock__lock_take(&gl->lock);
	if (__builtin_expect(!gl_space(gl)->get_sites, 1) && put_quickly(gl))
		return;
	gl_locked(gl);
	if (!gl->users) {
		glock__log(gl_space(gl),
			   "glock %u:%" PRIu64
			   ": glock_put() without a reference; call it once for each glock_get()",
			   gl->type, gl->number);
		gl_unlock(gl);
		return;
	}
	if (__builtin_expect(gl_space(gl)->get_sites != NULL, 0))
		glock__get_sites_drop(gl_space(gl)->get_sites, gl);
	put_locked(gl, true);
}

/* ---- walks over all glocks ---- */

/* Goes in the order of memory, so that a walk over millions of glocks reads it in sequence. */
struct glock *glock__next(struct glock_space *space, struct glock *gl)
{
	bool lvb = gl && gl->lk.has_lvb;
	uint32_t n = gl ? glock__slab_number(gl) + 1 : 1;

	for (;;) {
		struct glock__slab *s = &space->glocks[lvb];
		uint32_t slot = n % GLOCK__CHUNK_SLOTS;
		bool there;

		if (slot >= s->per_chunk) {
			n += GLOCK__CHUNK_SLOTS - slot;
			slot = 0;
		}
		if (n / GLOCK__CHUNK_SLOTS * s->per_chunk + slot >= s->used) {
			if (lvb)
				return NULL;
			lvb = true;
			n = 1;
			continue;
		}
		gl = glock__slab_at(s, n++);
		glock__lock_take(&gl->lock);
		there = gl->flags & GLOCK__F_TABLE;
		glock__lock_drop(&gl->lock);
		if (there)
			return gl;
	}
}

/* Takes up to BATCH glocks after `last`, each with a reference. Returns their number. */
static size_t collect(struct glock_space *space, struct glock *last, struct glock **batch)
{
	size_t n = 0;

	while (n < BATCH && (last = glock__next(space, last))) {
		glock__lock_take(&last->lock);
		glock__pin(last);
		glock__lock_drop(&last->lock);
		batch[n++] = last;
	}
	return n;
}

/* Holds no lock during fn. Glocks that are added meanwhile may be left out. */
void glock__each(struct glock_space *space, void (*fn)(struct glock *gl, void *arg), void *arg)
{
	struct glock *batch[BATCH], *last = NULL;
	size_t n;

	do {
		glock__lock_take(&space->lock);
		n = collect(space, last, batch);
		glock__lock_drop(&space->lock);
		if (n)
			last = batch[n - 1];
		for (size_t i = 0; i < n; i++) {
			fn(batch[i], arg);
			gl_lock(batch[i]);
			glock__put_locked(batch[i]);
		}
	} while (n == BATCH);
}

/* ---- what a program can read and set ---- */

unsigned int glock_type_of(const struct glock *gl)
{
	return gl->type;
}

uint64_t glock_number(const struct glock *gl)
{
	return gl->number;
}

void glock_set_object(struct glock *gl, void *object)
{
	bool mine = glock__lock_held(&gl->lock); /* called in an operation of this glock */
	void **at = gl_type(gl)->path ? gl_type(gl)->path->object(gl) : &gl->object;

	/* A dump on another thread may still use the old object. It has ended when this returns. */
	if (!mine)
		glock__lock_take(&gl->lock);
	atom_store_ptr(at, object);
	if (!mine)
		glock__lock_drop(&gl->lock);
}
