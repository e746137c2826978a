/* SPDX-License-Identifier: MIT */
/*
 * OCFS2: locking_state into Shots, and what happened between two Shots of a Lock.
 *
 * What the kernel's numbers mean decides what may be made of them:
 * - gets and total wait count every call, cached ones too; a wait is added when it ENDS. So the time lost in a
 *   frame is the part of the ended waits that lies inside the frame, plus the part so far of those that go on.
 * - Field 86 is when the first waiter began. It can be 0 while somebody waits: then the Lock is BUSY with an
 *   attach or a convert, and nothing about it moves from sample to sample. Action 3 marks the node that gives the
 *   lock up, not one that waits.
 * - A line that is missing says nothing (the kernel loses one at each 4 KiB of the file): a Lock keeps its last
 *   Shot, and what happened since is spread over the time since. A Lock seen for the first time has no past.
 * - All times are the node's own, so that no other node's clock can spoil an age.
 */
#include "ocfs2_line.h"
#include "source.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- counters ---------------------------------------------------------------------------------------- */

enum life { LIFE_SAME, LIFE_WRAPPED, LIFE_NEW };

struct moved {
	enum life life;
	uint64_t gets[2];
	double waited[2];  /* seconds, of waits that ended */
	bool new_max[2];   /* the longest wait of the Lock's life ended in this time */
};

/* A u32 that was near its end and is near its beginning has gone round; anything else that fell began anew. */
static bool wrapped(uint32_t before, uint32_t now)
{
	return before >= 0xc0000000u && now < 0x40000000u;
}

/*
 * Same life, a counter gone round, or a Lock that left memory and came back? Maxima and failures never fall in
 * one life, gets and totals fall only where gets go round: the kernel then starts again with 1 and that wait.
 */
static enum life life_of(const struct ocfs2_shot *p, const struct ocfs2_shot *s)
{
	enum life life = LIFE_SAME;

	for (int m = 0; m < 2; m++) {
		if (s->max_us[m] < p->max_us[m] || (s->fails[m] < p->fails[m] && !wrapped(p->fails[m], s->fails[m])))
			return LIFE_NEW;
		if (s->gets[m] < p->gets[m]) {
			if (!wrapped(p->gets[m], s->gets[m]))
				return LIFE_NEW;
			life = LIFE_WRAPPED;
		} else if (s->total_ns[m] < p->total_ns[m]) {
			return LIFE_NEW;
		}
	}
	return life;
}

static struct moved moved_between(const struct ocfs2_shot *p, const struct ocfs2_shot *s, bool renewed)
{
	struct moved d = {.life = renewed ? LIFE_NEW : life_of(p, s)};
	static const struct ocfs2_shot nothing;

	/* a new life began after p: all that it counted happened since */
	if (d.life == LIFE_NEW)
		p = &nothing;
	for (int m = 0; m < 2; m++) {
		bool round = s->gets[m] < p->gets[m];

		/* 0 is skipped when gets go round; what was waited before that is lost */
		d.gets[m] = round ? (uint64_t)(UINT32_MAX - p->gets[m]) + s->gets[m] : s->gets[m] - p->gets[m];
		d.waited[m] = 1e-9 * (double)(round ? s->total_ns[m] : s->total_ns[m] - p->total_ns[m]);
		d.new_max[m] = s->max_us[m] > p->max_us[m];
	}
	return d;
}

/* ---- waits ------------------------------------------------------------------------------------------- */

/* A request of this node's is with the DLM, and it is not one that gives the lock up. */
static bool busy(const struct ocfs2_shot *s)
{
	return (s->flags & OCFS2_BUSY) && (s->action == OCFS2_ACT_ATTACH || s->action == OCFS2_ACT_CONVERT);
}

static bool same_point(const struct ocfs2_shot *p, const struct ocfs2_shot *s)
{
	return busy(p) && p->action == s->action && p->level == s->level && p->requested == s->requested &&
	       memcmp(p->gets, s->gets, sizeof(p->gets)) == 0 &&
	       memcmp(p->total_ns, s->total_ns, sizeof(p->total_ns)) == 0;
}

/* What was known at the Shot before of the wait in progress then. */
struct tracked {
	bool any;
	double least, most; /* its age then; most may be INFINITY */
};

static struct tracked tracked_at(const struct take *t, const struct lock *lock, const struct ocfs2_shot *p)
{
	const struct trail *trail = table_trail_of(&t->ns->table, lock);
	const struct moment *then = node_when(t->node, lock->now.sample);
	struct tracked w = {.most = INFINITY};

	if (p->wait_us) {
		w.any = true;
		w.least = w.most = seconds(then->real_us - (int64_t)p->wait_us);
	} else if (trail && trail->waits) {
		w.any = true;
		w.least = seconds(then->mono_us - trail->wait_seen_us);
		if (trail->wait_not_before_us != INT64_MIN)
			w.most = seconds(then->mono_us - trail->wait_not_before_us);
	}
	return w;
}

/*
 * How much of `total` seconds, which ended waits took altogether, lies in the last `room` seconds, where one
 * wait took at most `longest`. Waits that are no longer than the room may all lie in it (there may be several
 * processes); of longer ones as few as possible are assumed, each as long as possible.
 */
static double part_inside(double total, double longest, double room)
{
	double full, n;

	longest = min_s(longest, total);
	if (longest <= room)
		return total;
	n = floor(total / longest);
	full = n * longest;
	return n * room + min_s(total - full, room);
}

/* Seconds from the Shot before until the last wait in this mode ended. */
static double room_for_ends(const struct take *t, const struct ocfs2_shot *s, int mode, double dt)
{
	if (!s->last_us[mode])
		return dt;
	return max_s(dt - seconds(t->real_us - (int64_t)s->last_us[mode]), 0);
}

/* Waits that ended since p: what of them lies in the time since, and the longest. */
static void add_ended(const struct take *t, struct change *c, const struct ocfs2_shot *s, const struct moved *d,
		      const struct tracked *before, double dt, double share)
{
	for (int m = 0; m < 2; m++) {
		double room = room_for_ends(t, s, m, dt), max = 1e-6 * s->max_us[m];
		double longest = INFINITY, mean = d->gets[m] ? d->waited[m] / (double)d->gets[m] : d->waited[m];

		if (d->waited[m] <= 0)
			continue;
		if (d->new_max[m])
			longest = max;
		else if (before->any)
			longest = min_s(max, before->most + room);
		/* nobody waited at p: all of it was waited since */
		c->lost_s += share * (longest == INFINITY ? d->waited[m] : part_inside(d->waited[m], longest, room));
		if (d->new_max[m])
			mean = max;
		else if (before->any && before->least > 0 && d->waited[m] >= before->least)
			mean = max_s(mean, min_s(d->waited[m], longest));
		change_add_longest(c, mean, false);
	}
}

/* The newest time at which this Lock surely did not wait yet, by the node's monotonic clock. */
static int64_t not_before(const struct take *t, const struct ocfs2_shot *s, int64_t before_us)
{
	uint64_t last = s->last_us[0] > s->last_us[1] ? s->last_us[0] : s->last_us[1];
	int64_t us = before_us;

	if (last && t->mono_us - (t->real_us - (int64_t)last) > us)
		us = t->mono_us - (t->real_us - (int64_t)last);
	return us > t->mono_us ? t->mono_us : us;
}

/* Follows a Lock that may be waiting without a stamp; true once two samples showed it at the same point. */
static bool follow(struct take *t, struct lock *lock, const struct ocfs2_shot *p, const struct ocfs2_shot *s)
{
	struct trail *trail = table_trail_of(&t->ns->table, lock);

	if (!busy(s) || s->wait_us) {
		if (trail)
			trail->waits = false;
		return false;
	}
	if (!trail && !(trail = table_trail(&t->ns->table, lock)))
		return false;
	trail->active_at = t->sample;
	if (trail->waits && p && same_point(p, s))
		return true;
	trail->waits = true;
	trail->wait_seen_us = t->mono_us;
	trail->wait_not_before_us =
	    not_before(t, s, p ? node_when(t->node, lock->now.sample)->mono_us : INT64_MIN);
	return false;
}

static void add_wait(struct take *t, struct lock *lock, int requested, double least, double most, double inside)
{
	struct change *c = table_change(&t->ns->table, lock);

	if (!c)
		return;
	change_add_wait(c, least, most);
	c->lost_s += inside;
	if (requested == OCFS2_LEVEL_EX)
		c->wants_ex = true;
	else
		c->wants_shared = true;
}

/* A Lock that may be waiting, until the DLM was asked. */
struct pending {
	uint32_t lock;
	bool followed;   /* two samples showed it at the same point */
	double dt, share; /* the time since the Shot before and how much of it is in this frame */
};

struct reading {
	struct take *t;
	const char *label;
	size_t usable;
	bool counts; /* some statistic is not zero */
	struct pending *pending;
	size_t n_pending, room_pending;
};

/* A wait that goes on, if there is one; p is NULL where there is no Shot before. */
static void take_waiting(struct reading *r, struct lock *lock, const struct ocfs2_shot *p, const struct ocfs2_shot *s,
			 double dt, double share)
{
	struct pending one = {table_index(&r->t->ns->table, lock), follow(r->t, lock, p, s), dt, share};
	struct pending *more;

	if (s->wait_us) {
		double age = seconds(r->t->real_us - (int64_t)s->wait_us);

		add_wait(r->t, lock, s->requested, age, age, share * (dt > 0 ? min_s(age, dt) : age));
	} else if (busy(s) && lock->id.type != 'F' && table_trail_of(&r->t->ns->table, lock)) {
		/* flock's locks have no counters, but always a stamp */
		if (r->n_pending == r->room_pending) {
			size_t room = r->room_pending ? 2 * r->room_pending : 64;

			more = reallocarray(r->pending, room, sizeof(*more));
			if (!more)
				return;
			r->pending = more;
			r->room_pending = room;
		}
		r->pending[r->n_pending++] = one;
	}
}

/* A wait that only one sample showed counts once it is this old: shorter ones are traffic. */
#define TELLING_S 0.1

/* On the kernel's DLM the request's own time is known; it goes before what was seen. */
static void settle(struct take *t, const struct pending *one, const struct dlm_times *dlm)
{
	struct lock *lock = table_lock(&t->ns->table, one->lock);
	struct trail *trail = table_trail_of(&t->ns->table, lock);
	bool exact = dlm && dlm->waiting_us > 0 && dlm->waiting_us <= t->mono_us + 2000000;
	double least, most = NAN;

	if (exact && dlm->waiting_us < trail->wait_seen_us)
		trail->wait_seen_us = dlm->waiting_us;
	if (exact)
		trail->wait_not_before_us = trail->wait_seen_us;
	least = seconds(t->mono_us - trail->wait_seen_us);
	if (!one->followed && !t->first && !(exact && least >= TELLING_S))
		return;
	if (trail->wait_not_before_us != INT64_MIN)
		most = seconds(t->mono_us - trail->wait_not_before_us);
	add_wait(t, lock, lock->now.ocfs2.requested, least, most, one->share * (one->dt > 0 ? min_s(least, one->dt) : exact ? least : 0));
}

static int by_lock(const void *a, const void *b)
{
	uint32_t x = ((const struct pending *)a)->lock, y = ((const struct pending *)b)->lock;

	return (x > y) - (x < y);
}

static void settle_all(struct reading *r)
{
	struct dlm_times *times = calloc(r->n_pending + 1, sizeof(*times));

	if (r->n_pending)
		qsort(r->pending, r->n_pending, sizeof(*r->pending), by_lock);
	for (size_t i = 0; times && i < r->n_pending; i++)
		times[i].lock = r->pending[i].lock;
	if (times)
		dlm_take_times(r->t, times, r->n_pending);
	/* without counters nobody can tell one long wait from two short ones */
	for (size_t i = 0; i < r->n_pending; i++)
		r->pending[i].followed &= r->counts;
	for (size_t i = 0; i < r->n_pending; i++)
		settle(r->t, &r->pending[i], times ? &times[i] : NULL);
	free(times);
	free(r->pending);
}

/* M is taken for every look at an inode and every change of it, W for its data. */
static bool tells_use(const struct lock *lock)
{
	return lock->id.type == 'M' || lock->id.type == 'W' || lock->id.type == 'D';
}

static void add_counts(struct take *t, struct lock *lock, const struct ocfs2_shot *p, const struct ocfs2_shot *s,
		       bool renewed, double dt, double share)
{
	struct moved d = moved_between(p, s, renewed);
	struct tracked before = {0};
	struct change *c;

	if (!d.gets[0] && !d.gets[1] && d.waited[0] <= 0 && d.waited[1] <= 0)
		return;
	c = table_change(&t->ns->table, lock);
	if (!c)
		return;
	if (d.life != LIFE_NEW)
		before = tracked_at(t, lock, p);
	c->acquired += (uint64_t)(share * (double)(d.gets[0] + d.gets[1]) + 0.5);
	if (tells_use(lock)) {
		c->read |= d.gets[0] > 0;
		c->wrote |= d.gets[1] > 0;
	}
	add_ended(t, c, s, &d, &before, dt, share);
}

/* ---- lines ------------------------------------------------------------------------------------------- */

static void shot_of(struct ocfs2_shot *s, const struct ocfs2_line *l)
{
	for (int m = 0; m < 2; m++) {
		s->total_ns[m] = l->total_ns[m];
		s->last_us[m] = l->last_us[m];
		s->gets[m] = l->gets[m];
		s->fails[m] = l->fails[m];
		s->max_us[m] = l->version < 3 ? l->max[m] / 1000 : l->max[m];
		s->holders[m] = l->holders[m];
	}
	s->wait_us = l->wait_us;
	s->flags = (uint16_t)l->flags;
	s->level = (int8_t)l->level;
	s->requested = (int8_t)l->requested;
	s->blocking = (int8_t)l->blocking;
	s->action = (uint8_t)l->action;
	s->unused = 0; /* Shots are compared byte by byte */
}

/* What the line tells about the inode beside the lock. */
static void describe(struct take *t, struct lock *lock, const struct ocfs2_line *l)
{
	struct ocfs2_lvb lvb;

	if (l->id.type == 'M' && ocfs2_lvb_decode(&lvb, l->lvb)) {
		lock->kind = (uint8_t)(lvb.mode >> 12);
		lock->size = lvb.size;
	}
	if (l->id.type == 'N' && !t->ns->root) {
		/* the only parent of a dentry that carries the file system's generation is the root */
		struct lock_id id = {.number = l->id.number, .type = 'M'};
		const struct lock *parent = table_find(&t->ns->table, &id);

		if (parent && parent->generation)
			t->ns->root = l->id.number;
	}
}

/* One name on several lines: a flock lock has a line for each open file. Only their waits add up. */
static void take_again(struct take *t, struct lock *lock, const struct ocfs2_shot *s)
{
	struct change *c;
	double age;

	if (!s->wait_us || lock->id.type != 'F')
		return;
	c = table_change(&t->ns->table, lock);
	if (!c)
		return;
	age = seconds(t->real_us - (int64_t)s->wait_us);
	change_add_wait(c, age, age);
	c->lost_s += t->frame_s > 0 ? min_s(age, t->frame_s) : age;
}

static bool take_line(void *arg, const char *text, size_t len, size_t number, bool complete)
{
	struct reading *r = arg;
	struct take *t = r->t;
	struct ocfs2_line l;
	struct ocfs2_shot s;
	struct lock *lock;
	const char *wrong = ocfs2_line_parse(&l, text, len, complete);
	bool named = !wrong && l.id.type == 'N', renewed;

	if (wrong) {
		problem(t->problems, r->label, number, "%s", wrong);
		return true;
	}
	lock = table_take(&t->ns->table,
			  &(struct lock_id){l.id.number, named ? l.id.low : 0, (uint8_t)l.id.type});
	if (!lock) {
		problem(t->problems, r->label, number, "%s", strerror(ENOMEM));
		return false;
	}
	r->usable++;
	shot_of(&s, &l);
	r->counts |= (s.gets[0] | s.gets[1] | s.fails[0] | s.fails[1]) != 0;
	if (lock->now.sample == t->sample) {
		take_again(t, lock, &s);
		return true;
	}
	/* W and F carry the inode's generation: another one is another inode in the old block */
	renewed = !named && lock->now.sample && l.id.low != lock->generation;
	lock->generation = named ? 0 : l.id.low;
	describe(t, lock, &l);
	t->ns->wide |= !named && l.id.number > UINT32_MAX;
	if (lock->now.sample && memcmp(&lock->now.ocfs2, &s, sizeof(s)) == 0 && !s.wait_us && !busy(&s)) {
		lock->now.sample = t->sample; /* idle, as most are */
		return true;
	}
	if (lock->now.sample) {
		struct ocfs2_shot p = lock->now.ocfs2;
		double dt = seconds(t->mono_us - node_when(t->node, lock->now.sample)->mono_us);
		double share = dt > 0 ? min_s(t->frame_s / dt, 1) : 1;

		add_counts(t, lock, &p, &s, renewed, dt, share);
		take_waiting(r, lock, &p, &s, dt, share);
	} else {
		take_waiting(r, lock, NULL, &s, t->frame_s, 1);
	}
	lock->now.ocfs2 = s;
	lock->now.sample = t->sample;
	return true;
}

/* "    Device => Id: 254,16  Uuid: 2AAE...  Gen: 0x1385027F  Label: o2" */
static bool take_fs_state(void *arg, const char *line, size_t len, size_t number, bool complete)
{
	static const char key[] = "  Gen: 0x";
	uint32_t *generation = arg;
	const char *at = memmem(line, len, key, sizeof(key) - 1);
	unsigned value;
	char text[16];

	(void)number;
	(void)complete;
	if (!memmem(line, len, "Device =>", 9) || !at)
		return true;
	snprintf(text, sizeof(text), "%.*s", (int)(line + len - at - (sizeof(key) - 1)), at + sizeof(key) - 1);
	if (sscanf(text, "%x", &value) == 1)
		*generation = value;
	return false;
}

static void ocfs2_take(struct take *t)
{
	struct reading r = {.t = t};
	struct input in;
	int err = t->collector->ops->open(t->collector, t->from, t->from_space, FILE_FS_STATE, &in);

	if (!err && t->ns->last_sample == 0)
		input_lines(&in, take_fs_state, &t->ns->fs_generation);
	else if (!err)
		in.close(&in);
	err = t->collector->ops->open(t->collector, t->from, t->from_space, FILE_LOCKING_STATE, &in);
	if (!err) {
		r.label = in.label;
		err = input_lines(&in, take_line, &r);
		settle_all(&r);
		if (err)
			problem(t->problems, in.label, 0, "%s", strerror(-err));
		else if (!r.usable)
			problem(t->problems, in.label, 0, "no line of it can be used");
	} else {
		problem(t->problems, t->from->name, 0, "%s: locking_state: %s", t->from_space->name,
			strerror(-err));
	}
	t->ns->lines = r.usable;
	t->ns->unusable = r.usable == 0;
	t->ns->no_statistics = r.usable && !r.counts;
}

/* ---- what it is called ------------------------------------------------------------------------------- */

static bool newest_line(void *arg, const char *text, size_t len, size_t number, bool complete)
{
	int64_t *newest = arg;
	struct ocfs2_line l;

	(void)number;
	if (ocfs2_line_parse(&l, text, len, complete))
		return true;
	for (int i = 0; i < 3; i++) {
		uint64_t us = i < 2 ? l.last_us[i] : l.wait_us;

		if (us <= INT64_MAX / 2 && (int64_t)us > *newest)
			*newest = (int64_t)us;
	}
	return true;
}

static int64_t ocfs2_newest(struct take *t)
{
	int64_t newest = 0;
	struct input in;

	if (t->collector->ops->open(t->collector, t->from, t->from_space, FILE_LOCKING_STATE, &in) == 0)
		input_lines(&in, newest_line, &newest);
	return newest ? newest : -1;
}

/* One row an inode; every lock that belongs to none has a row of its own. */
static const struct {
	char type;
	bool inode;
	const char *name;  /* of the lock type */
	const char *class; /* of the row */
} types[] = {
    {'M', true, "META", NULL},           {'W', true, "RW", NULL},
    {'O', true, "OPEN", NULL},           {'F', true, "FLOCK", NULL},
    {'N', true, "DENTRY", NULL},         {'D', true, "DATA", NULL},
    {'S', false, "SUPER", "super block"}, {'R', false, "RENAME", "rename"},
    {'Q', false, "QUOTA", "quota"},      {'Y', false, "NFS_SYNC", "NFS sync"},
    {'P', false, "ORPHAN_SCAN", "orphan scan"}, {'T', false, "REFCOUNT", "refcount tree"},
    {'I', false, "TRIM_FS", "trim"},
};

enum { N_TYPES = sizeof(types) / sizeof(types[0]) };

static unsigned type_index(uint8_t type)
{
	unsigned i = 0;

	while (i < N_TYPES && types[i].type != (char)type)
		i++;
	return i;
}

static struct row_id ocfs2_row(const struct lock *lock)
{
	unsigned i = type_index(lock->id.type);

	if (lock->id.type == 'N') /* the child, of which only the low 32 bits are printed */
		return (struct row_id){0, lock->id.low};
	if (i < N_TYPES && types[i].inode)
		return (struct row_id){0, lock->id.number};
	return (struct row_id){lock->id.type, lock->id.number};
}

static bool ocfs2_names(const struct lock *lock, uint64_t *directory, uint32_t *low)
{
	*directory = lock->id.number;
	*low = lock->id.low;
	return lock->id.type == 'N';
}

static void ocfs2_class_name(struct row_id row, char *buf, size_t size)
{
	unsigned i = type_index(row.class);

	if (row.class == 'T')
		snprintf(buf, size, "refcount tree at block %llu", (unsigned long long)row.number);
	else if (row.class == 'Q')
		snprintf(buf, size, "%s quota", row.number ? "group" : "user");
	else if (row.class == 'N')
		snprintf(buf, size, "name of an inode ...%08llx", (unsigned long long)row.number);
	else if (i < N_TYPES && types[i].class)
		snprintf(buf, size, "%s", types[i].class);
	else
		snprintf(buf, size, "lock of unknown type %c", row.class);
}

static const char *ocfs2_type_name(uint8_t type)
{
	unsigned i = type_index(type);

	return i < N_TYPES ? types[i].name : "UNKNOWN";
}

static void ocfs2_lock_name(const struct lock *lock, char *buf, size_t size)
{
	if (lock->id.type == 'N')
		snprintf(buf, size, "N%016llx%08x", (unsigned long long)lock->id.number, lock->id.low);
	else
		snprintf(buf, size, "%c000000%016llx%08x", lock->id.type, (unsigned long long)lock->id.number,
			 lock->generation);
}

/* System inodes and the root directory carry the file system's generation, in M's name and in W's. */
static bool ocfs2_is_system(const struct space *space, const struct lock *lock)
{
	uint64_t root = space->root ? space->root : 5; /* where mkfs puts it in most layouts */

	if (!lock->generation || lock->id.number == root)
		return false;
	if (lock->id.type == 'M')
		return true;
	return (lock->id.type == 'W' || lock->id.type == 'D') && lock->generation == space->generation;
}

const struct source ocfs2_source = {
    .name = "ocfs2",
    .take = ocfs2_take,
    .newest = ocfs2_newest,
    .row = ocfs2_row,
    .class_name = ocfs2_class_name,
    .type_name = ocfs2_type_name,
    .lock_name = ocfs2_lock_name,
    .names = ocfs2_names,
    .describing = "MWDO",
    .is_system = ocfs2_is_system,
};
