/* SPDX-License-Identifier: MIT */
/*
 * dlm_only.c - makes glocks from the DLM's own locks.
 *
 * A cached glock tells nothing about a process. The process of a flock is the one that made the
 * lock in the DLM, because no node keeps a flock after use. Of another glock, the holder is the
 * process that asked for the mode, and is written only if another node waits for the glock.
 *
 * The node that decides over a lock has the requests of the other nodes in its queue. Such a demand
 * ends with "?", and has the age 0 if nothing tells it.
 */
#include "forms.h"
#include "o2top/base/grow.h"
#include "o2top/base/scan.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MASTER_COPY = 0x10000, WAITING = 1, GRANTED = 2, CONVERTING = 3, TYPE_FLOCK = 6 };

/* A resource with what its locks tell. */
struct resource {
	uint64_t type, number;
	int held, wanted, demanded; /* modes of this node and of another; -1 none */
	uint32_t holder, waiter;    /* pids */
	uint64_t demanded_ns;       /* since when another node has waited; 0 not known */
};

struct resources {
	struct resource *list;
	size_t n, room;
	bool in; /* the last one is being read */
};

static const char *glock_mode(int mode)
{
	return mode == 5 ? "EX" : mode == 3 ? "SH" : mode == 2 ? "DF" : "UN";
}

static bool scan_column(const char *column, size_t width, uint64_t *out)
{
	struct scan s = scan_line(column, width);

	while (scan_char(&s, ' '))
		;
	return scan_hex(&s, out) && scan_done(&s);
}

static int put_glock(const struct resource *r, int64_t up_us, struct buffer *out)
{
	static const char *const keeps[] = {[2] = "DF", [3] = "SH"};
	bool waits = r->wanted >= 0, asked = r->demanded >= 0;
	uint64_t since_us = r->demanded_ns / 1000, up = up_us > 0 ? (uint64_t)up_us : 0;
	int err;

	err = forms_print(out,
			  "G:  s:%s n:%" PRIx64 "/%" PRIx64 " f:%s%s t:%s d:%s/%" PRIu64
			  "%s a:0 v:0 r:3 m:0\n",
			  glock_mode(r->held), r->type, r->number, waits ? "l" : "",
			  asked ? "D" : "", glock_mode(waits ? r->wanted : r->held),
			  !asked                                 ? "EX"
			  : r->demanded == 2 || r->demanded == 3 ? keeps[r->demanded]
								 : "UN",
			  asked && since_us && since_us < up ? up - since_us : 0, asked ? "?" : "");
	if (!err && r->held > 0 && (r->type == TYPE_FLOCK || (asked && !waits)))
		err = forms_print(out, " H: s:%s f:H e:0 p:%u [%s] dlm_lock\n", glock_mode(r->held),
				  r->holder, "?");
	if (!err && waits)
		err = forms_print(out, " H: s:%s f:W e:0 p:%u [%s] dlm_lock\n",
				  glock_mode(r->wanted), r->waiter, "?");
	return err;
}

static int take_resource(struct resources *all, struct scan *s)
{
	const char *name = memmem(s->p, scan_left(s), " 24 str ", 8);
	struct resource *r;

	all->in = false;
	if (!grow(&all->list, all->n, &all->room, sizeof(*all->list)))
		return -ENOMEM;
	r = &all->list[all->n];
	*r = (struct resource){.held = -1, .wanted = -1, .demanded = -1};
	all->in = name && s->end - name == 8 + 24 && scan_column(name + 8, 8, &r->type) &&
		  scan_column(name + 16, 16, &r->number) && r->type < 16;
	all->n += all->in;
	return 0;
}

/* Notes a request of another node in the queue. The oldest one counts, in the strongest mode. */
static void add_demand(struct resource *r, int mode, uint64_t since_ns)
{
	if (mode > r->demanded)
		r->demanded = mode;
	if (since_ns && (!r->demanded_ns || since_ns < r->demanded_ns))
		r->demanded_ns = since_ns;
}

static void take_lock(struct resource *r, struct scan *s)
{
	uint64_t id, remid, xid, exflags, flags, since_ns = 0;
	int32_t node, status, granted, requested, number;
	uint32_t pid;

	if (!scan_hex(s, &id) || !scan_char(s, ' ') || !scan_i32(s, &node) || !scan_char(s, ' ') ||
	    !scan_hex(s, &remid) || !scan_char(s, ' ') || !scan_u32(s, &pid) ||
	    !scan_char(s, ' ') || !scan_u64(s, &xid) || !scan_char(s, ' ') ||
	    !scan_hex(s, &exflags) || !scan_char(s, ' ') || !scan_hex(s, &flags) ||
	    !scan_char(s, ' ') || !scan_i32(s, &status) || !scan_char(s, ' ') ||
	    !scan_i32(s, &granted) || !scan_char(s, ' ') || !scan_i32(s, &requested))
		return;
	for (int i = 0; i < 4; i++)
		if (!scan_char(s, ' ') || !scan_i32(s, &number))
			return;
	if (!scan_char(s, ' ') || !scan_u64(s, &since_ns))
		return;
	if (flags & MASTER_COPY) {
		if (status != GRANTED && requested >= 0)
			add_demand(r, requested, since_ns);
		return;
	}
	if (granted > r->held) {
		r->held = granted;
		r->holder = pid;
	}
	if (status == WAITING || status == CONVERTING) {
		r->wanted = requested;
		r->waiter = pid;
	}
}

static int by_name(const void *x, const void *y)
{
	const struct resource *a = x, *b = y;

	if (a->type != b->type)
		return a->type < b->type ? -1 : 1;
	return (a->number > b->number) - (a->number < b->number);
}

/* Adds what b tells of the same resource. Lists of locks name it with each lock. */
static void join(struct resource *a, const struct resource *b)
{
	if (b->held > a->held) {
		a->held = b->held;
		a->holder = b->holder;
	}
	if (b->wanted > a->wanted) {
		a->wanted = b->wanted;
		a->waiter = b->waiter;
	}
	if (b->demanded >= 0)
		add_demand(a, b->demanded, b->demanded_ns);
}

int dlm_only_glocks(const char *text, size_t len, int64_t up_us, struct buffer *out)
{
	struct resources all = {0};
	const char *end = len ? text + len : text, *next;
	int err = 0, n = 0;

	for (const char *line = text; len && line < end && !err; line = next) {
		const char *nl = memchr(line, '\n', (size_t)(end - line));
		struct scan s = scan_line(line, (size_t)((nl ? nl : end) - line));

		next = nl ? nl + 1 : end;
		if (scan_text(&s, "rsb "))
			err = take_resource(&all, &s);
		else if (all.in && scan_text(&s, "lkb "))
			take_lock(&all.list[all.n - 1], &s);
	}
	if (all.n)
		qsort(all.list, all.n, sizeof(*all.list), by_name);
	for (size_t i = 0, j; i < all.n && !err; i = j) {
		struct resource *r = &all.list[i];

		for (j = i + 1; j < all.n && by_name(r, &all.list[j]) == 0; j++)
			join(r, &all.list[j]);
		/* a node that decides over locks of others for which no node waits has no glock */
		if (r->held >= 0 || r->wanted >= 0 || r->demanded >= 0) {
			err = put_glock(r, up_us, out);
			n++;
		}
	}
	free(all.list);
	return err ? err : n;
}
