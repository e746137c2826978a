/* SPDX-License-Identifier: MIT */
/*
 * dlm_only.c - makes locks of GFS2 and OCFS2 from the DLM's own locks.
 *
 * A cached lock tells nothing about a process. The process of a flock is the one that made the lock
 * in the DLM, because no node keeps a flock after use. Of another glock, the holder is the process
 * that asked for the mode, and is written only if another node waits for the glock.
 *
 * The node that decides over a lock has the requests of the other nodes in its queue. Such a demand
 * ends with "?" on GFS2, and has the age 0 if nothing tells it.
 */
#include "forms.h"
#include "o2top/base/grow.h"
#include "o2top/base/scan.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MASTER_COPY = 0x10000, WAITING = 1, GRANTED = 2, CONVERTING = 3, TYPE_FLOCK = 6 };
enum { GLOCK_NAME = 24, DENTRY_NAME = 25, OCFS2_NAME = 31 }; /* lengths */

/* A resource with what its locks tell. */
struct resource {
	char name[OCFS2_NAME + 1];
	int held, wanted, demanded; /* modes of this node and of another; -1 none */
	uint32_t holder, waiter;    /* pids */
	uint64_t demanded_ns;       /* since when another node has waited; 0 not known */
};

struct resources {
	struct resource *list;
	size_t n, room;
	bool in; /* the last one is being read */
	enum fs_kind fs;
	/* in a text of o2dlm: this node's number, or the other number that it may be; -1 none */
	int own, or_own;
	int32_t master; /* of the resource that is read */
};

/* ---- what the file system would print ------------------------------------------------------ */

static const char *glock_mode(int mode)
{
	return mode == 5 ? "EX" : mode == 3 ? "SH" : mode == 2 ? "DF" : "UN";
}

static bool glock_of(const char *name, size_t len, uint64_t *type, uint64_t *number)
{
	return len == GLOCK_NAME && scan_column(name, 8, type) &&
	       scan_column(name + 8, 16, number) && *type < 16;
}

static int put_glock(const struct resource *r, int64_t up_us, struct buffer *out)
{
	static const char *const keeps[] = {[2] = "DF", [3] = "SH"};
	bool waits = r->wanted >= 0, asked = r->demanded >= 0;
	uint64_t since_us = r->demanded_ns / 1000, up = up_us > 0 ? (uint64_t)up_us : 0;
	uint64_t type = 0, number = 0;
	int err;

	glock_of(r->name, GLOCK_NAME, &type, &number);
	err = forms_print(out,
			  "G:  s:%s n:%" PRIx64 "/%" PRIx64 " f:%s%s t:%s d:%s/%" PRIu64
			  "%s a:0 v:0 r:3 m:0\n",
			  glock_mode(r->held), type, number, waits ? "l" : "", asked ? "D" : "",
			  glock_mode(waits ? r->wanted : r->held),
			  !asked                                 ? "EX"
			  : r->demanded == 2 || r->demanded == 3 ? keeps[r->demanded]
								 : "UN",
			  asked && since_us && since_us < up ? up - since_us : 0, asked ? "?" : "");
	if (!err && r->held > 0 && (type == TYPE_FLOCK || (asked && !waits)))
		err = forms_print(out, " H: s:%s f:H e:0 p:%u [%s] dlm_lock\n", glock_mode(r->held),
				  r->holder, "?");
	if (!err && waits)
		err = forms_print(out, " H: s:%s f:W e:0 p:%u [%s] dlm_lock\n",
				  glock_mode(r->wanted), r->waiter, "?");
	return err;
}

/* A lock of OCFS2 names no process. */
static int put_lock(const struct resource *r, struct buffer *out)
{
	enum { ATTACHED = 0x1, BUSY = 0x2, BLOCKED = 0x4, INITIALIZED = 0x40, MADE = 0x8000 };
	enum { ATTACH = 1, CONVERT = 2 };
	bool waits = r->wanted >= 0, asked = r->demanded >= 0;
	const struct forms_lock l = {
	    .level = r->held,
	    .requested = r->wanted,
	    .blocking = r->demanded,
	    .flags = MADE | INITIALIZED | (r->held >= 0 ? ATTACHED : 0) | (waits ? BUSY : 0) |
		     (asked ? BLOCKED : 0),
	    .action = !waits        ? 0
		      : r->held < 0 ? ATTACH
				    : CONVERT,
	};

	return forms_print_lock(out, r->name, &l);
}

/* ---- what the DLM printed ------------------------------------------------------------------ */

static bool is_name(enum fs_kind fs, const char *name, size_t len)
{
	uint64_t type, number;

	if (fs == FS_GFS2)
		return glock_of(name, len, &type, &number);
	if (len != (*name == 'N' ? DENTRY_NAME : OCFS2_NAME) || *name < 'A' || *name > 'Z')
		return false;
	for (size_t i = 1; i < len; i++)
		if (!memchr("0123456789abcdef", name[i], 16))
			return false;
	return true;
}

static int take_resource(struct resources *all, const char *name, size_t len)
{
	struct resource *r;

	all->in = false;
	if (!grow(&all->list, all->n, &all->room, sizeof(*all->list)))
		return -ENOMEM;
	if (!len || !is_name(all->fs, name, len))
		return 0;
	r = &all->list[all->n++];
	*r = (struct resource){.held = -1, .wanted = -1, .demanded = -1};
	memcpy(r->name, name, len);
	all->in = true;
	return 0;
}

/* Takes the name behind "rsb ... LENGTH str ". */
static int take_rsb(struct resources *all, const struct scan *s)
{
	const char *str = memmem(s->p, scan_left(s), " str ", 5);
	const char *name = str ? str + 5 : s->end;

	return take_resource(all, name, (size_t)(s->end - name));
}

/* Notes a request of another node in the queue. The oldest one counts, in the strongest mode. */
static void add_demand(struct resource *r, int mode, uint64_t since_ns)
{
	if (mode > r->demanded)
		r->demanded = mode;
	if (since_ns && (!r->demanded_ns || since_ns < r->demanded_ns))
		r->demanded_ns = since_ns;
}

static void take_lkb(struct resource *r, struct scan *s)
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

/* Takes "version, queue, mode, mode of the conversion, node". */
static void take_o2dlm_lock(struct resources *all, struct scan *s)
{
	enum { O2DLM_GRANTED, O2DLM_CONVERTING };
	struct resource *r = &all->list[all->n - 1];
	int32_t v[5], wanted;

	if (!scan_numbers(s, v, 5))
		return;
	wanted = v[1] == O2DLM_GRANTED ? -1 : v[1] == O2DLM_CONVERTING ? v[3] : v[2];
	if (v[4] != all->own) {
		if (wanted >= 0)
			add_demand(r, wanted, 0);
		return;
	}
	if (v[1] <= O2DLM_CONVERTING && v[2] > r->held)
		r->held = v[2];
	if (wanted > r->wanted)
		r->wanted = wanted;
}

static int take_line(struct resources *all, struct scan *s)
{
	if (scan_text(s, "rsb "))
		return take_rsb(all, s);
	if (scan_text(s, "NAME:"))
		return take_resource(all, s->p, scan_left(s));
	if (all->in && scan_text(s, "lkb "))
		take_lkb(&all->list[all->n - 1], s);
	else if (all->in && scan_text(s, "LOCK:"))
		take_o2dlm_lock(all, s);
	return 0;
}

/* ---- whole texts --------------------------------------------------------------------------- */

/* Calls `each` for the lines. Returns 0 or its first error. */
static int each_line(struct resources *all, const char *text, size_t len,
		     int (*each)(struct resources *all, struct scan *s))
{
	const char *end = len ? text + len : text, *next;
	int err = 0;

	for (const char *line = text; len && line < end && !err; line = next) {
		const char *nl = memchr(line, '\n', (size_t)(end - line));
		struct scan s = scan_line(line, (size_t)((nl ? nl : end) - line));

		next = nl ? nl + 1 : end;
		err = each(all, &s);
	}
	return err;
}

/*
 * Finds out which node printed a text of o2dlm. A node lists its own locks. The master of a lock
 * lists those of all nodes. So the node is the master of each lock, or the node that has it.
 */
static int find_own(struct resources *all, struct scan *s)
{
	int32_t v[5];

	if (scan_text(s, "LRES:")) {
		all->in = scan_numbers(s, v, 2);
		all->master = v[1];
	} else if (all->in && scan_text(s, "LOCK:") && scan_numbers(s, v, 5)) {
		if (!all->n++) {
			all->own = v[4];
			all->or_own = all->master;
		}
		if (all->own != v[4] && all->own != all->master)
			all->own = -1;
		if (all->or_own != v[4] && all->or_own != all->master)
			all->or_own = -1;
	}
	return 0;
}

static int by_name(const void *x, const void *y)
{
	const struct resource *a = x, *b = y;

	return strcmp(a->name, b->name);
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

int dlm_only_rows(enum fs_kind fs, enum file_kind kind, const char *text, size_t len, int64_t up_us,
		  struct buffer *out)
{
	struct resources all = {.fs = fs, .own = -1, .or_own = -1};
	int err = 0, n = 0;

	if (kind == FILE_O2DLM)
		each_line(&all, text, len, find_own);
	if (all.own < 0)
		all.own = all.or_own;
	all.n = 0;
	all.in = false;
	err = each_line(&all, text, len, take_line);
	if (all.n)
		qsort(all.list, all.n, sizeof(*all.list), by_name);
	for (size_t i = 0, j; i < all.n && !err; i = j) {
		struct resource *r = &all.list[i];

		for (j = i + 1; j < all.n && by_name(r, &all.list[j]) == 0; j++)
			join(r, &all.list[j]);
		/* a node that decides over locks of others for which no node waits has no lock */
		if (r->held >= 0 || r->wanted >= 0 || r->demanded >= 0) {
			err = fs == FS_GFS2 ? put_glock(r, up_us, out) : put_lock(r, out);
			n++;
		}
	}
	free(all.list);
	return err ? err : n;
}
