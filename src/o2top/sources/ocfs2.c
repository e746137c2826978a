/* SPDX-License-Identifier: MIT */
/*
 * ocfs2.c - the source of OCFS2: turns locking_state into Shots, and names OCFS2's locks.
 *
 * ocfs2_wait.c computes the change between two Shots.
 *
 * A missing line tells nothing, because the kernel loses one line at each 4 KiB of the file. The
 * Lock keeps its last Shot, and its next change is spread over the time since. ocfs2_appear.c
 * counts a Lock that is seen for the first time.
 */
#include "flock.h"
#include "o2top/model/demands.h"
#include "ocfs2_impl.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

/* ---- lines --------------------------------------------------------------------------------- */

/* Moves a stamp that no clock shows to a time far ahead, so that its age is 0. */
static uint64_t ocfs2_stamp(uint64_t us)
{
	return us <= INT64_MAX / 2 ? us : INT64_MAX / 2;
}

static void shot_of(struct ocfs2_shot *s, const struct ocfs2_line *l)
{
	for (int m = 0; m < 2; m++) {
		s->total_ns[m] = l->total_ns[m];
		s->last_us[m] = ocfs2_stamp(l->last_us[m]);
		s->gets[m] = l->gets[m];
		s->fails[m] = l->fails[m];
		s->max_us[m] = l->version < 3 ? l->max[m] / 1000 : l->max[m];
		s->holders[m] = l->holders[m];
	}
	s->wait_us = ocfs2_stamp(l->wait_us);
	s->flags = (uint16_t)l->flags;
	s->level = (int8_t)l->level;
	s->requested = (int8_t)l->requested;
	s->blocking = (int8_t)l->blocking;
	s->action = (uint8_t)l->action;
	s->lines = s->lines_before = 0; /* Shots are compared byte by byte */
}

/*
 * Forgets the facts that the M lock told about an old inode, because another inode is in its block.
 */
static void forget_inode(struct source_sample *t, uint64_t number)
{
	struct lock *lock =
	    table_find(&t->ns->table, &(struct lock_id){.number = number, .type = 'M'});

	if (!lock || lock->now.sample == t->sample)
		return;
	lock->kind = 0;
	lock->size = UINT64_MAX;
	lock->inode_generation = 0;
}

/* Notes the facts about the inode that the line holds beside the lock. */
static void ocfs2_describe(struct source_sample *t, struct lock *lock, const struct ocfs2_line *l)
{
	struct ocfs2_lvb lvb;

	if (l->id.type == 'M' && ocfs2_lvb_decode(&lvb, l->lvb)) {
		lock->kind = (uint8_t)(lvb.mode >> 12);
		lock->size = lvb.size;
		lock->inode_generation = lvb.generation;
		lock->attributes &= (uint8_t)~LOCK_LINKS;
		if (lvb.links > 1 && lock->kind != DT_DIR)
			lock->attributes |= LOCK_LINKS;
	}
	if (l->id.type == 'N' && !t->ns->root) {
		/*
		 * Of all parents of dentries, only the root carries the file system's generation.
		 */
		struct lock_id id = {.number = l->id.number, .type = 'M'};
		const struct lock *parent = table_find(&t->ns->table, &id);

		if (parent && parent->generation)
			t->ns->root = l->id.number;
	}
}

struct reading {
	struct source_sample *t;
	const char *label;
	size_t usable;
	bool counts;  /* some statistic is not zero */
	bool foreign; /* the file is another program's output */
	struct ocfs2_waits waits;
	struct ocfs2_list lines;
};

static bool ocfs2_take_line(void *arg, const char *text, size_t len, size_t number, bool complete)
{
	struct reading *r = arg;
	struct source_sample *t = r->t;
	struct ocfs2_line l;
	struct ocfs2_shot s;
	struct lock *lock;
	const char *wrong = ocfs2_line_parse(&l, text, len, complete);
	bool named = !wrong && l.id.type == 'N', renewed;

	if (wrong && number == 1 && len > 8 && memcmp(text, "Lockres:", 8) == 0) {
		r->foreign = true;
		problem(t->problems, r->label, 0,
			"the output of debugfs.ocfs2: o2top FILE reads it by itself, or save "
			"/sys/kernel/debug/ocfs2/%s/locking_state instead",
			t->from_space->name);
		return false;
	}
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
	if (!lock->now.sample)
		lock->inode_generation = 0;
	r->usable++;
	shot_of(&s, &l);
	r->counts |= (s.gets[0] | s.gets[1] | s.fails[0] | s.fails[1]) != 0;
	if (l.id.type == 'F') {
		lock->generation = l.id.low;
		ocfs2_flock_take(t, lock, &s);
		return true;
	}
	if (lock->now.sample == t->sample)
		return true;
	ocfs2_list_line(&r->lines, t, lock, len);
	/*
	 * W carries the inode's generation. Another generation is another inode in the old block.
	 */
	renewed = !named && lock->now.sample && l.id.low != lock->generation;
	lock->generation = named ? 0 : l.id.low;
	if (renewed && l.id.type == 'W')
		forget_inode(t, l.id.number);
	ocfs2_describe(t, lock, &l);
	t->ns->wide |= !named && l.id.number > UINT32_MAX;
	if (lock->now.sample && memcmp(&lock->now.ocfs2, &s, sizeof(s)) == 0 && !s.wait_us &&
	    !ocfs2_busy(&s) && !(s.flags & OCFS2_BLOCKED)) {
		lock->now.sample = t->sample; /* idle, like most Locks */
		return true;
	}
	ocfs2_compare(&r->waits, lock, lock->now.sample ? &lock->now.ocfs2 : NULL, &s, renewed);
	ocfs2_take_demand(t, lock, lock->now.sample ? &lock->now.ocfs2 : NULL, &s, renewed);
	if (!lock->now.sample)
		ocfs2_list_appeared(&r->lines, t, lock);
	lock->now.ocfs2 = s;
	lock->now.sample = t->sample;
	return true;
}

/* "    Device => Id: 254,16  Uuid: 2AAE...  Gen: 0x1385027F  Label: o2" */
static bool ocfs2_take_fs_state(void *arg, const char *line, size_t len, size_t number,
				bool complete)
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
	snprintf(text, sizeof(text), "%.*s", (int)(line + len - at - (sizeof(key) - 1)),
		 at + sizeof(key) - 1);
	if (sscanf(text, "%x", &value) == 1)
		*generation = value;
	return false;
}

static void ocfs2_take(struct source_sample *t)
{
	struct reading r = {.t = t, .waits = {.t = t}};
	struct input in;
	int err = t->collector->ops->open(t->collector, t->from, t->from_space, FILE_FS_STATE, &in);

	demands_begin(t->ns);
	if (!err && t->ns->last_sample == 0)
		input_lines(&in, ocfs2_take_fs_state, &t->ns->fs_generation);
	else if (!err)
		in.close(&in);
	err =
	    t->collector->ops->open(t->collector, t->from, t->from_space, FILE_LOCKING_STATE, &in);
	if (!err) {
		r.label = in.label;
		err = input_lines(&in, ocfs2_take_line, &r);
		ocfs2_list_settle(&r.lines, t);
		ocfs2_settle(&r.waits, r.counts);
		ocfs2_flock_asked(t);
		ocfs2_end_demands(t, r.counts);
		ocfs2_flock_settle(t);
		flock_estimate(t, 'F', &(struct flock_total){.lost_s = NAN});
		if (err)
			problem(t->problems, in.label, 0, "%s", strerror(-err));
		else if (!r.usable && !r.foreign)
			problem(t->problems, in.label, 0, "no line is usable");
	} else {
		problem(t->problems, t->from->name, 0, "%s: locking_state: %s", t->from_space->name,
			strerror(-err));
	}
	t->ns->lines = r.usable;
	t->ns->unusable = r.usable == 0;
	t->ns->no_statistics = r.usable && !r.counts;
}

/* ---- names --------------------------------------------------------------------------------- */

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

static int64_t ocfs2_newest(struct source_sample *t)
{
	int64_t newest = 0;

	collect_lines(t->collector, t->from, t->from_space, FILE_LOCKING_STATE, newest_line,
		      &newest);
	return newest ? newest : -1;
}

/* An inode has one row. Each lock that belongs to no inode has a row of its own. */
static const struct {
	char type;
	bool inode;
	const char *name;  /* of the lock type */
	const char *class; /* of the row */
} types[] = {
    {'M', true, "META", NULL},
    {'W', true, "RW", NULL},
    {'O', true, "OPEN", NULL},
    {'F', true, "FLOCK", NULL},
    {'p', true, "PLOCK", NULL}, /* none of the kernel's: fcntl locks of dlm_controld */
    {'N', true, "DENTRY", NULL},
    {'D', true, "DATA", NULL},
    {'S', false, "SUPER", "super block"},
    {'R', false, "RENAME", "rename"},
    {'Q', false, "QUOTA", "quota"},
    {'Y', false, "NFS_SYNC", "NFS sync"},
    {'P', false, "ORPHAN_SCAN", "orphan scan"},
    {'T', false, "REFCOUNT", "refcount tree"},
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

	if (lock->id.type == 'N') /* the child; the kernel prints only its low 32 bits */
		return (struct row_id){0, lock->id.low};
	if (i < N_TYPES && types[i].inode)
		return (struct row_id){0, lock->id.number};
	return (struct row_id){lock->id.type, lock->id.number};
}

/* Returns the generation of an inode. The kernel answers a wrong generation with ESTALE. */
static uint32_t ocfs2_generation(const struct table *t, uint64_t inode)
{
	static const char named[] = "WF"; /* W and F have the generation in their names */
	const struct lock *lock;

	for (const char *type = named; *type; type++) {
		lock = table_find(t, &(struct lock_id){.number = inode, .type = (uint8_t)*type});
		if (lock && lock->generation)
			return lock->generation;
	}
	/* M has the generation in its value block. */
	lock = table_find(t, &(struct lock_id){.number = inode, .type = 'M'});
	return lock ? lock->inode_generation : 0;
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
		snprintf(buf, size, "N%016llx%08x", (unsigned long long)lock->id.number,
			 lock->id.low);
	else
		snprintf(buf, size, "%c000000%016llx%08x", lock->id.type,
			 (unsigned long long)lock->id.number, lock->generation);
}

/*
 * Returns whether the inode is the file system's own. System inodes and the root directory carry
 * the file system's generation, in M's name and in W's.
 */
static bool ocfs2_is_system(const struct space *space, const struct lock *lock)
{
	uint64_t root = space->root ? space->root : 5; /* mkfs puts it there in most layouts */

	if (!lock->generation || lock->id.number == root)
		return false;
	if (lock->id.type == 'M')
		return true;
	return (lock->id.type == 'W' || lock->id.type == 'D') &&
	       lock->generation == space->generation;
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
    .caching = "MWO",
    .generation = ocfs2_generation,
    .counts_links = true,
    .sentence = ocfs2_sentence,
    .plocks = 'p',
    .flocks = 'F',
};
