/* SPDX-License-Identifier: MIT */
/* thread.c - see thread.h. */
#include "thread.h"

#include "glock/core/space.h"

#include "bias.h"
#include "glock/publish/publish.h"

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

struct glock__lock glock__threads_lock;
void (*glock__slots_end)(struct glock__thread *t);
static const uint32_t no_bell[2];

/* ---- the end of a thread ---- */

#ifndef GLOCK_ATOM_HOOKS
static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void thread_ends(void *tls)
{
	glock__tls_end(tls);
}

static void make_key(void)
{
	pthread_key_create(&key, thread_ends);
}

void glock__watch_thread(struct glock__tls *tls)
{
	pthread_once(&once, make_key);
	pthread_setspecific(key, tls);
}
#else
void glock__watch_thread(struct glock__tls *tls)
{
	(void)tls; /* the program calls glock__tls_end() */
}
#endif

/* ---- the memory of a thread's part ---- */

/*
 * Each call of the fast path uses four cache lines. They hold this struct, its published record,
 * the head of a chunk, and struct glock__tls.
 *
 * Some caches (AMD's) predict the way of a line from a hash of its address. If two lines of one set
 * have the same hash, each access loses one of the two lines. The place of the memory decides which
 * lines collide. One process in a hundred was two to six times as slow for that reason. Therefore
 * these lines are put into different sets.
 *
 * The program's stack collides, too: a holder often lies there, and each call stores its return
 * address. Those lines may be in any set. Therefore the page of the struct has another hash than
 * the pages around the end of the stack.
 */
enum { PAGE = 4096, LINE = 64, PLACES = 3 };
enum { STACK_BELOW = 2, STACK_ABOVE = 5, PAGES_TRIED = 16 };
static_assert(PLACES * LINE + sizeof(struct glock__thread) <= PAGE / 2, "half a page has room");

static uintptr_t set_of(const void *line)
{
	return (uintptr_t)line % PAGE / LINE;
}

/* Heads of chunks are in the first set. In a simulation no step depends on an address. */
static bool is_in_the_way(const void *line)
{
#ifdef GLOCK_ATOM_HOOKS
	(void)line;
	return false;
#else
	return set_of(line) == 0 || set_of(line) == set_of(&glock__tls()->fast.thread);
#endif
}

#ifdef GLOCK_ATOM_HOOKS
static bool is_page_in_the_way(const void *page)
{
	(void)page;
	return false;
}
#else
/* The hash of AMD's Zen to Zen 4. All lines of a page have the same. */
static uintptr_t hash_of(uintptr_t line)
{
	return (line >> 12 & 0xff) ^ (line >> 17 & 0xf8) ^ (line >> 23 & 4) ^ (line >> 25 & 2) ^
	       (line >> 27 & 1);
}

static bool is_page_in_the_way(const void *page)
{
	uintptr_t hash = hash_of((uintptr_t)page), stack = (uintptr_t)__builtin_frame_address(0);
	bool in_the_way = hash == hash_of((uintptr_t)&glock__tls()->fast.thread);

	for (int i = -STACK_BELOW; i <= STACK_ABOVE; i++)
		in_the_way |= hash == hash_of(stack + (uintptr_t)(i * PAGE));
	return in_the_way;
}
#endif

/* Returns NULL without memory. */
static char *map_page(int tries)
{
	char *p = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *other;

	if (p == MAP_FAILED)
		return NULL;
	if (!tries || !is_page_in_the_way(p))
		return p;
	other = map_page(tries - 1);
	if (!other)
		return p;
	munmap(p, PAGE);
	return other;
}

/* Takes a page of its own. The page is zero in a child, so after a fork the part fits no space. */
static struct glock__thread *new_page(const struct glock__thread_record *r)
{
	char *p = map_page(PAGES_TRIED), *t;

	if (!p)
		return NULL;
	madvise(p, PAGE, MADV_WIPEONFORK); /* or see wipe() in tls.c */
	/*
	 * Keep away from the beginning of the page, because the first glocks of a program lie there
	 * in their pages.
	 */
	t = p + PAGE / 2;
	for (int i = 1; i < PLACES && (is_in_the_way(t) || set_of(t) == set_of(r)); i++)
		t += LINE;
	return (struct glock__thread *)t;
}

static void free_page(struct glock__thread *t)
{
	munmap((void *)((uintptr_t)t & ~(uintptr_t)(PAGE - 1)), PAGE);
}

static struct glock__thread_record *record_at(struct glock_space *space, uint32_t number)
{
	return glock__slab_published(glock__slab_at(&space->thread_records, number));
}

/* Returns 0 without memory. */
static uint32_t new_record(struct glock_space *space)
{
	uint32_t number = glock__slab_get(&space->thread_records), other;

	if (!number || !is_in_the_way(record_at(space, number)))
		return number;
	other = glock__slab_get(&space->thread_records);
	if (!other)
		return number;
	glock__slab_put(&space->thread_records, number); /* it may suit another thread */
	return other;
}

/* Gives back the place that was kept for the thread. */
static void free_spare(struct glock_space *space, struct glock__thread *t)
{
	if (space->publisher)
		glock__publisher_put(space->publisher, GLOCK__AREA_HOLDERS, t->spare.place);
	t->spare.place = GLOCK__UNPUBLISHED;
}

/* Takes the part off the list of its space, and frees it. Under threads_lock. */
static void thread_free(struct glock__thread *t)
{
	struct glock_space *space = t->space;
	struct glock__thread **at = &space->threads;

	while (*at != t)
		at = &(*at)->next;
	*at = t->next;
	free_spare(space, t);
	space->ended -= t->ended;
	t->record->flags = 0;
	glock__slab_put(&space->thread_records, t->number);
	free_page(t);
}

/* Tells whether a holder stands in a slot. After that no thread touches the slots. */
static bool in_use(const struct glock__thread *t)
{
	for (unsigned int i = 0; i < GLOCK__MOVABLE_SLOTS; i++)
		if (atom_load8(&t->movable[i].state) != GLOCK__MOVABLE_FREE)
			return true;
	return t->used;
}

/*
 * Frees the parts of ended threads whose last holder is gone, as far as movable holders kept them.
 * Under threads_lock.
 */
static void free_ended(struct glock_space *space)
{
	struct glock__thread *next;

	for (struct glock__thread *t = space->ended ? space->threads : NULL; t; t = next) {
		next = t->next;
		if (t->ended && !in_use(t))
			thread_free(t);
	}
}

/* In a child, this thread's parts belong to the parent, and are zero. */
static void forget_parents(struct glock__tls *tls)
{
	if (tls->fast.generation == glock__generation())
		return;
	tls->fast.generation = glock__generation();
	tls->fast.threads = tls->fast.thread = NULL;
}

void glock__tls_end(struct glock__tls *tls)
{
	struct glock__thread *t, *next;

	forget_parents(tls);
	glock__check_left(true);
	for (t = tls->fast.threads; t && glock__slots_end; t = t->next_of_self)
		glock__slots_end(t);
	glock__lock_take(&glock__threads_lock);
	t = tls->fast.threads;
	tls->fast.threads = tls->fast.thread = NULL;
	for (; t; t = next) {
		next = t->next_of_self;
		if (!t->space) {
			free_page(t);
		} else if (in_use(t)) {
			t->ended = true;
			t->space->ended++;
			if (t->used)
				glock__log(t->space,
					   "thread %d (%s) has ended and still holds %d locks; "
					   "release them before a thread ends",
					   (int)t->tid, t->comm, __builtin_popcount(t->used));
		} else {
			thread_free(t);
		}
	}
	glock__lock_drop(&glock__threads_lock);
}

void glock__threads_end(struct glock_space *space)
{
	struct glock__thread *next;

	glock__lock_take(&glock__threads_lock);
	for (struct glock__thread *t = space->threads; t; t = next) {
		next = t->next;
		atom_store_ptr(&t->fast, NULL);
		atom_store_ptr(&t->space, NULL); /* its thread frees the part when it ends */
		if (t->ended)
			free_page(t);
	}
	space->threads = NULL;
	glock__lock_drop(&glock__threads_lock);
	glock__slab_end(&space->thread_records);
}

/* ---- a thread's record in a space ---- */

void glock__threads_trace(struct glock_space *space, bool on)
{
	glock__lock_take(&glock__threads_lock);
	atom_store32(&space->traced, on);
	for (struct glock__thread *t = space->threads; t; t = t->next)
		atom_store_ptr(&t->fast, on ? NULL : space);
	glock__lock_drop(&glock__threads_lock);
}

static struct glock__thread *new_thread(struct glock_space *space, struct glock__tls *tls)
{
	uint32_t number = new_record(space);
	struct glock__thread_record *r = number ? record_at(space, number) : NULL;
	struct glock__thread *t = r ? new_page(r) : NULL;

	if (!t) {
		if (number)
			glock__slab_put(&space->thread_records, number);
		return NULL;
	}
	memset(r, 0, sizeof(*r));
	for (unsigned int i = 0; i < GLOCK__ALL_SLOTS; i++) {
		t->slots[i].number = (uint8_t)i;
		t->slots[i].bit = 1u << i;
	}
	for (unsigned int i = 0; i < GLOCK__MOVABLE_SLOTS; i++) {
		t->movable[i].number = (uint8_t)i;
		t->movable[i].published = &r->movable[i];
	}
	t->last = t->slots;
	t->space = space;
	t->record = r;
	t->number = number;
	t->owner = glock__thread_number();
	t->tid = glock__thread_id();
	memcpy(t->comm, glock__thread_name(), sizeof(t->comm));
	r->tid = (uint32_t)t->tid;
	memcpy(r->comm, t->comm, sizeof(r->comm));
	r->flags = GLOCK__R_LIVE;
	glock__lock_take(&glock__threads_lock);
	free_ended(space);
	t->fast = atom_load32(&space->traced) ? NULL : space;
	t->next = space->threads;
	space->threads = t;
	t->next_of_self = tls->fast.threads;
	tls->fast.threads = t;
	glock__lock_drop(&glock__threads_lock);
	glock__watch_thread(tls);
	return t;
}

struct glock__thread *glock__thread_find(struct glock_space *space)
{
	struct glock__tls *tls = glock__tls();
	struct glock__thread *t, **at;

	if (space->generation != glock__generation())
		return NULL;
	forget_parents(tls);
	t = tls->fast.thread;
	if (t && atom_load_ptr(&t->space) == space)
		return t;
	glock__lock_take(&glock__threads_lock);
	for (at = &tls->fast.threads; (t = *at);) {
		if (t->space == space)
			break;
		if (!t->space) { /* the space was closed meanwhile */
			*at = t->next_of_self;
			free_page(t);
		} else {
			at = &t->next_of_self;
		}
	}
	glock__lock_drop(&glock__threads_lock);
	if (!t)
		t = new_thread(space, tls);
	if (!tls->id.spinlocked) {
		tls->fast.thread = t;
		tls->fast.record = t ? t->record : NULL;
		tls->fast.bell = space->lm->bell ? space->lm->bell : no_bell;
	}
	return t;
}

bool glock__slot_of_ended(struct glock_space *space, const struct glock__holder *gh)
{
	struct glock__thread *t;
	bool found = false;

	glock__lock_take(&glock__threads_lock);
	for (t = space->threads; t && !found; t = t->next) {
		found = t->ended && glock__fast_is_mine(t, gh);
		if (!found)
			continue;
		glock__slot_of(t, gh)->claimed = false;
		glock__slot_empty(t, glock__slot_of(t, gh));
		if (!in_use(t))
			thread_free(t);
		break;
	}
	glock__lock_drop(&glock__threads_lock);
	return found;
}

/*
 * Returns the slots of the thread with a holder of that glock. The slot of a bias counts if it is
 * claimed, because a holder without a claim is about to be refused.
 */
static uint32_t slots_to_search(struct glock__thread *t, const struct glock *gl)
{
	uint32_t used = atom_load32(&t->used) & ((1u << GLOCK__THREAD_SLOTS) - 1);
	const struct glock__slot *s = glock__slot_of_bias(t, gl);

	/* The name of such a slot changes under threads_lock only. */
	return used | (s->gl == gl && s->claimed ? s->bit : 0);
}

/* Writes the holder to the n-th place if there is room. Returns n + 1. */
static size_t add_slot(const struct glock__thread *t, struct glock__holder *const *gh,
		       struct glock__fast_holder *out, size_t n, size_t room)
{
	if (n < room) {
		out[n] = (struct glock__fast_holder){.gh = atom_load_ptr(gh), .tid = t->tid};
		memcpy(out[n].comm, t->comm, sizeof(t->comm));
	}
	return n + 1;
}

size_t glock__slots_of(struct glock *gl, struct glock__fast_holder *out, size_t room)
{
	size_t n = 0;

	glock__lock_take(&glock__threads_lock);
	for (struct glock__thread *t = gl_space(gl)->threads; t; t = t->next) {
		for (uint32_t used = slots_to_search(t, gl); used; used &= used - 1) {
			int i = __builtin_ctz(used);

			if (atom_load_ptr(&t->slots[i].gl) == gl)
				n = add_slot(t, &t->slots[i].gh, out, n, room);
		}
		for (const struct glock__movable *s = t->movable;
		     s < t->movable + GLOCK__MOVABLE_SLOTS; s++)
			if (atom_load8(&s->state) == GLOCK__MOVABLE_HELD &&
			    atom_load_ptr(&s->gl) == gl)
				n = add_slot(t, &s->gh, out, n, room);
	}
	glock__lock_drop(&glock__threads_lock);
	return n;
}

void glock__threads_forked(void)
{
	atom_store32(&glock__threads_lock.word, 0);
}
