/* SPDX-License-Identifier: MIT */
/*
 * dlm.c - the DLM's own times of waiting locks, from its dump <lockspace>_all.
 *
 * Only this node's locks are read. A master copy belongs to a process on another node, and its time
 * is that of the master's queue.
 */
#include "dlm.h"

#include "o2top/sources/lines/dlm_line.h"
#include "o2top/sources/lines/ocfs2_line.h"

#include <stdlib.h>
#include <string.h>

struct dump {
	struct source_sample *t;
	const char *label;
	/* of: the times of the resource that is being read, or NULL */
	struct dlm_times *times, *of;
	size_t n;
	size_t wrong; /* lines that were not understood */
};

static int by_lock(const void *a, const void *b)
{
	uint32_t x = ((const struct dlm_times *)a)->lock, y = ((const struct dlm_times *)b)->lock;

	return (x > y) - (x < y);
}

/*
 * Finds the lock of a resource. In a dentry lock of OCFS2, the child follows the printable part, as
 * binary.
 */
static bool ocfs2_resource(const struct dlm_rsb_line *rsb, struct lock_id *id)
{
	struct ocfs2_name name;
	char printed[32];
	uint32_t low = 0;

	if (rsb->len == 31 && rsb->name[0] == 'N' && rsb->name[17] == '\0') {
		for (int i = 22; i < 26; i++)
			low = low << 8 | (unsigned char)rsb->name[i];
		memcpy(printed, rsb->name, 17);
		memcpy(printed + 17, "00000000", 8);
		if (!ocfs2_name_parse(&name, printed, 25))
			return false;
		*id = (struct lock_id){name.number, low, 'N'};
		return true;
	}
	if (rsb->len < 31 || !ocfs2_name_parse(&name, rsb->name, 31))
		return false;
	*id = (struct lock_id){name.number, 0, (uint8_t)name.type};
	return true;
}

bool dlm_lock_id(enum fs_kind fs, const struct dlm_rsb_line *rsb, struct lock_id *id)
{
	uint32_t type;

	if (fs == FS_OCFS2)
		return ocfs2_resource(rsb, id);
	*id = (struct lock_id){0};
	if (!dlm_gfs2_name(rsb, &type, &id->number) || type > UINT8_MAX)
		return false;
	id->type = (uint8_t)type;
	return true;
}

static bool dlm_take_line(void *arg, const char *line, size_t len, size_t number, bool complete)
{
	struct dump *d = arg;
	struct dlm_rsb_line rsb;
	struct dlm_lkb_line lkb;
	const char *wrong = NULL;
	struct lock_id id;

	if (!complete) {
		wrong = "the line is cut off";
	} else if (dlm_is_heading(line, len)) {
		d->of = NULL;
	} else if (len > 4 && memcmp(line, "rsb ", 4) == 0) {
		struct lock *lock;

		d->of = NULL;
		wrong = dlm_rsb_parse(&rsb, line, len);
		if (!wrong && dlm_lock_id(d->t->space->fs, &rsb, &id) &&
		    (lock = table_find(&d->t->ns->table, &id))) {
			struct dlm_times key = {.lock = table_index(&d->t->ns->table, lock)};

			d->of = bsearch(&key, d->times, d->n, sizeof(key), by_lock);
		}
	} else if (d->of && len > 4 && memcmp(line, "lkb ", 4) == 0) {
		wrong = dlm_lkb_parse(&lkb, line, len);
		if (!wrong && !(lkb.flags & DLM_MASTER_COPY)) {
			int64_t us = (int64_t)(lkb.since_ns / 1000) + d->t->kernel_shift_us;

			if (lkb.status == DLM_GRANTED) {
				d->of->granted_us = us;
				d->of->granted_id = lkb.id;
			} else {
				d->of->waiting_us = us;
				d->of->waiting_id = lkb.id;
			}
		}
	}
	/* A form that is not known is wrong in each line. */
	if (wrong && !d->wrong++)
		problem(d->t->problems, d->label, number, "%s", wrong);
	return true;
}

const struct dlm_times *dlm_times_of(const struct dlm_times *times, size_t n, uint32_t lock)
{
	struct dlm_times key = {.lock = lock};

	return n ? bsearch(&key, times, n, sizeof(key), by_lock) : NULL;
}

size_t dlm_take_times(struct source_sample *t, struct dlm_times *times, size_t n)
{
	struct dump d = {.t = t, .times = times};
	struct input in;
	int err;

	if (n)
		qsort(times, n, sizeof(*times), by_lock);
	for (size_t i = 0; i < n; i++)
		if (!d.n || times[d.n - 1].lock != times[i].lock)
			times[d.n++] = times[i];
	if (!d.n || t->kernel_shift_us == INT64_MIN ||
	    t->collector->ops->open(t->collector, t->from, t->from_space, FILE_DLM_ALL, &in))
		return d.n;
	d.label = in.label;
	err = input_lines(&in, dlm_take_line, &d);
	if (err)
		problem(t->problems, in.label, 0, "%s", strerror(-err));
	return d.n;
}
