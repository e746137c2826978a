/* SPDX-License-Identifier: MIT */
/*
 * peek_read.c - the glocks of a segment, each with its holders, its extra, its busy record and its
 * lent record.
 *
 * There are many records of glocks, and they are not kept. The other records are few. They are read
 * first and sorted by glock, so that each glock finds its own.
 */
#include "peek_impl.h"

#include "base/clean.h"
#include "glock/base/flags.h"
#include "glock/base/mode.h"
#include "glock/core/slab.h"
#include "glock/fast/thread.h"

#include <stdlib.h>
#include <string.h>

/* ---- holders and extras -------------------------------------------------------------------- */

/*
 * Returns the place behind the last element. The array grows with the records found, and not with
 * the size that the file claims. Returns NULL without memory, which ends the reading.
 */
static void *place_for_one(struct glock__peek *p, void *array, size_t n, size_t *room, size_t size)
{
	char *at;

	memcpy(&at, array, sizeof(at)); /* a pointer to elements of any type */
	if (n == *room) {
		at = reallocarray(at, *room ? 2 * *room : 64, size);
		if (!at) {
			p->no_memory = true;
			return NULL;
		}
		memcpy(array, &at, sizeof(at));
		*room = *room ? 2 * *room : 64;
	}
	return at + n * size;
}

/* Tells whether the record is in use. Counts a record that makes no sense. */
static bool is_one(struct glock__peek *p, unsigned int type, bool good)
{
	if (type == GLOCK__SEGMENT_FREE)
		return false;
	if (type < GLOCK_TYPE_MAX && good)
		return true;
	p->counts.bad++;
	return false;
}

static bool take_holder(struct glock__peek *p, char *record, bool torn, void *arg)
{
	struct glock__segment_holder *h =
	    place_for_one(p, &p->holders, p->n_holders, &p->room_holders, sizeof(*h));

	(void)arg;
	if (!h)
		return false;
	memcpy(h, record, sizeof(*h));
	if (!is_one(p, h->type, h->mode < GLOCK_MODE_MAX))
		return true;
	h->asked = glock__peek_time(p, h->asked);
	h->granted = glock__peek_time(p, h->granted);
	glock__peek_clean(h->comm, sizeof(h->comm));
	glock__peek_clean(h->where, sizeof(h->where));
	p->counts.torn += torn;
	p->n_holders++;
	return true;
}

static void say_where(const struct glock__peek *p, uint64_t number, char *to)
{
	struct glock__segment_site site;

	strcpy(to, "?"); /* too many call sites, or the program gave none */
	if (!number || !glock__peek_one(p, GLOCK__AREA_SITES, number - 1, &site))
		return;
	glock__peek_clean(site.where, sizeof(site.where));
	memcpy(to, site.where, sizeof(site.where));
}

/* Reads a holder of the fast path from a slot of its thread. */
static void read_slot_holder(struct glock__peek *p, const struct glock__thread_record *t,
			     uint64_t slot)
{
	unsigned int mode = GLOCK__MODE_OF_SLOT(slot);
	struct glock__segment_holder *h;
	struct glock__record r;

	if (slot & GLOCK__UNSEEN)
		return;
	if (mode == GLOCK_UN || mode >= GLOCK_MODE_MAX ||
	    !glock__peek_one(p, GLOCK__AREA_RECORDS, GLOCK__PLACE_OF_SLOT(slot), &r)) {
		p->counts.bad++;
		return;
	}
	if (!(r.flags & GLOCK__R_LIVE) || r.type >= GLOCK_TYPE_MAX)
		return; /* the holder has just let go, and the glock was freed */
	h = place_for_one(p, &p->holders, p->n_holders, &p->room_holders, sizeof(*h));
	if (!h)
		return;
	*h = (struct glock__segment_holder){
	    .type = r.type,
	    .mode = (uint8_t)mode,
	    .number = r.number,
	    .flags = GLOCK__H_HOLDER | (slot & GLOCK__SLOT_NOPID ? GLOCK_NOPID : 0),
	    .pid = (int32_t)t->tid,
	};
	memcpy(h->comm, t->comm, sizeof(h->comm));
	say_where(p, GLOCK__SITE_OF_SLOT(slot), h->where);
	p->n_holders++;
}

static bool take_thread(struct glock__peek *p, char *record, bool torn, void *arg)
{
	struct glock__thread_record t;

	(void)torn;
	(void)arg;
	memcpy(&t, record, sizeof(t));
	if (!(t.flags & GLOCK__R_LIVE))
		return true;
	glock__peek_clean(t.comm, sizeof(t.comm));
	for (unsigned int i = 0; i < GLOCK__ALL_SLOTS; i++)
		if (t.used & 1u << i)
			read_slot_holder(p, &t, t.slots[i]);
	for (unsigned int i = 0; i < GLOCK__MOVABLE_SLOTS; i++)
		if (t.movable[i])
			read_slot_holder(p, &t, t.movable[i]);
	return !p->no_memory;
}

/* Keeps lines that begin with a blank and end with a newline. Drops all else. */
static void clean_object(struct glock__segment_extra *e)
{
	size_t len = e->object_len < sizeof(e->object) ? e->object_len : sizeof(e->object);
	char *to = e->object, *end = e->object + len;

	for (char *line = e->object, *next; line < end; line = next) {
		char *nl = memchr(line, '\n', (size_t)(end - line));

		next = nl ? nl + 1 : end;
		if (*line != ' ' || !nl)
			continue;
		glock__clean(line, (size_t)(nl - line));
		memmove(to, line, (size_t)(next - line));
		to += next - line;
	}
	e->object_len = (uint16_t)(to - e->object);
}

static bool take_extra(struct glock__peek *p, char *record, bool torn, void *arg)
{
	struct glock__segment_extra *e =
	    place_for_one(p, &p->extras, p->n_extras, &p->room_extras, sizeof(*e));

	(void)arg;
	if (!e)
		return false;
	memcpy(e, record, sizeof(*e));
	if (!is_one(p, e->type, e->waited >= 0 && e->longest >= 0))
		return true;
	e->object_at = glock__peek_time(p, e->object_at);
	clean_object(e);
	p->counts.torn += torn;
	p->n_extras++;
	return true;
}

/* The process writes these records field by field, without a sequence number. */
static bool take_more(struct glock__peek *p, char *record, bool torn, void *arg)
{
	struct glock__busy_record *m =
	    place_for_one(p, &p->more, p->n_more, &p->room_more, sizeof(*m));

	(void)torn;
	(void)arg;
	if (!m)
		return false;
	memcpy(m, record, sizeof(*m));
	m->demote_time = glock__peek_time(p, m->demote_time);
	if (!(m->flags & GLOCK__R_LIVE))
		return true;
	if (m->type >= GLOCK_TYPE_MAX || m->hold < 0)
		p->counts.bad++;
	else
		p->n_more++;
	return true;
}

static bool take_lent(struct glock__peek *p, char *record, bool torn, void *arg)
{
	struct glock__lent_record *l =
	    place_for_one(p, &p->lent, p->n_lent, &p->room_lent, sizeof(*l));

	(void)arg;
	if (!l)
		return false;
	memcpy(l, record, sizeof(*l));
	if (!is_one(p, l->type, true))
		return true;
	l->since = glock__peek_time(p, l->since);
	p->counts.torn += torn;
	p->n_lent++;
	return true;
}

static int by_u64(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int compare_names(unsigned int type_a, uint64_t number_a, unsigned int type_b,
			 uint64_t number_b)
{
	return type_a != type_b ? (type_a > type_b) - (type_a < type_b)
				: by_u64(number_a, number_b);
}

static int by_holder(const void *a, const void *b)
{
	const struct glock__segment_holder *x = a, *y = b;
	int c = compare_names(x->type, x->number, y->type, y->number);
	bool x_has = x->flags & GLOCK__H_HOLDER, y_has = y->flags & GLOCK__H_HOLDER;

	if (c)
		return c;
	return x_has != y_has ? y_has - x_has : by_u64(x->order, y->order);
}

static int by_extra(const void *a, const void *b)
{
	const struct glock__segment_extra *x = a, *y = b;

	return compare_names(x->type, x->number, y->type, y->number);
}

static int by_more(const void *a, const void *b)
{
	const struct glock__busy_record *x = a, *y = b;

	return compare_names(x->type, x->number, y->type, y->number);
}

static int by_lent(const void *a, const void *b)
{
	const struct glock__lent_record *x = a, *y = b;

	return compare_names(x->type, x->number, y->type, y->number);
}

static int read_sparse(struct glock__peek *p)
{
	int err;

	p->given = p->n_holders = p->n_extras = p->n_more = p->n_lent = 0;
	p->no_memory = false;
	err = glock__peek_area(p, GLOCK__AREA_HOLDERS, take_holder, NULL);
	if (!err)
		err = glock__peek_area(p, GLOCK__AREA_THREADS, take_thread, NULL);
	if (!err)
		err = glock__peek_area(p, GLOCK__AREA_EXTRAS, take_extra, NULL);
	if (!err)
		err = glock__peek_area(p, GLOCK__AREA_BUSY_RECORDS, take_more, NULL);
	if (!err)
		err = glock__peek_area(p, GLOCK__AREA_LENT, take_lent, NULL);
	if (p->n_lent)
		qsort(p->lent, p->n_lent, sizeof(*p->lent), by_lent);
	if (p->n_more)
		qsort(p->more, p->n_more, sizeof(*p->more), by_more);
	if (p->n_holders)
		qsort(p->holders, p->n_holders, sizeof(*p->holders), by_holder);
	if (p->n_extras)
		qsort(p->extras, p->n_extras, sizeof(*p->extras), by_extra);
	p->counts.holders = p->n_holders;
	p->counts.extras = p->n_extras;
	p->counts.lent = p->n_lent;
	return p->no_memory ? -ENOMEM : err;
}

/* ---- glocks -------------------------------------------------------------------------------- */

struct reading {
	glock__peek_fn *fn;
	void *arg;
};

/*
 * A name has one glock, or two if the glock moved during the read. So all glocks together get each
 * holder twice at most. Otherwise a file in which all glocks and holders have one name would make a
 * square of steps.
 */
static void find_holders(struct glock__peek *p, struct glock__peek_glock *gl)
{
	size_t low = 0, high = p->n_holders;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		const struct glock__segment_holder *h = &p->holders[mid];

		if (compare_names(h->type, h->number, gl->r.type, gl->r.number) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	gl->holders = p->holders + low;
	if (p->given > p->n_holders)
		return;
	while (low + gl->n_holders < p->n_holders &&
	       !compare_names(gl->holders[gl->n_holders].type, gl->holders[gl->n_holders].number,
			      gl->r.type, gl->r.number))
		gl->n_holders++;
	p->given += gl->n_holders;
}

static bool take_record(struct glock__peek *p, char *record, bool torn, void *arg)
{
	struct reading *reading = arg;
	struct glock__peek_glock gl = {.torn = torn};
	struct glock__segment_extra key;
	struct glock__busy_record more;
	struct glock__lent_record lent;

	memcpy(&gl.r, record, sizeof(gl.r));
	gl.r.born = glock__peek_time(p, gl.r.born);
	gl.r.stamp = glock__peek_time(p, gl.r.stamp);
	gl.r.granted_at = glock__peek_time(p, gl.r.granted_at);
	if (!(gl.r.flags & GLOCK__R_LIVE))
		return true;
	if (gl.r.type >= GLOCK_TYPE_MAX || gl.r.state >= GLOCK_MODE_MAX ||
	    gl.r.target >= GLOCK_MODE_MAX || gl.r.demote >= GLOCK_MODE_MAX) {
		p->counts.bad++;
		return true;
	}
	p->counts.torn += torn;
	p->counts.glocks++;
	if (p->n_holders)
		find_holders(p, &gl);
	p->over = !glock__peek_spend(p, gl.n_holders * GLOCK__PEEK_LINE);
	if (p->over)
		return false;
	if (p->n_extras) {
		key.type = gl.r.type;
		key.number = gl.r.number;
		gl.extra = bsearch(&key, p->extras, p->n_extras, sizeof(key), by_extra);
	}
	if (p->n_more) {
		more.type = gl.r.type;
		more.number = gl.r.number;
		gl.more = bsearch(&more, p->more, p->n_more, sizeof(more), by_more);
	}
	if (p->n_lent) {
		lent.type = gl.r.type;
		lent.number = gl.r.number;
		gl.lent = bsearch(&lent, p->lent, p->n_lent, sizeof(lent), by_lent);
	}
	return reading->fn(reading->arg, &gl);
}

int glock__peek_read(struct glock__peek *p, glock__peek_fn *fn, void *arg,
		     struct glock__peek_counts *counts)
{
	struct reading reading = {fn, arg};
	int err;

	p->counts = (struct glock__peek_counts){0};
	p->over = false;
	err = glock__peek_head_anew(p);
	if (!err)
		err = read_sparse(p);
	if (!err)
		err = glock__peek_area(p, GLOCK__AREA_RECORDS, take_record, &reading);
	if (counts)
		*counts = p->counts;
	return p->over ? -EDQUOT : err;
}

int glock__peek_users(struct glock__peek *p, unsigned int type, uint64_t number)
{
	struct glock__peek_glock gl = {.r = {.type = (uint8_t)type, .number = number}};
	int err = glock__peek_head_anew(p);

	if (!err)
		err = read_sparse(p);
	if (err)
		return err;
	find_holders(p, &gl);
	return (int)gl.n_holders;
}
