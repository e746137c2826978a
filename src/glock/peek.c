/* SPDX-License-Identifier: MIT */
/* peek.c - see peek.h. */
#include "peek.h"

#include "flags.h"
#include "mode.h"
#include "thread.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* No process of ours publishes more; a file that says so does not make us read for ever. */
enum {
	MAX_CPUS = 8192,
	MAX_HOLDERS = 1 << 20,
	MAX_EXTRAS = 1 << 22,
	MAX_RECORDS = 1 << 24,
	CHUNK = 256 * 1024,
	TRIES = 16, /* for a record that changes under our eyes */
};

struct glock__peek {
	int fd;
	struct glock__segment_head head;
	uint64_t file_size;
	struct glock__segment_holder *holders;
	struct glock__segment_extra *extras;
	struct glock__more *more;
	size_t n_holders, n_extras, n_more;
	size_t room_holders, room_extras, room_more;
	bool no_memory;
	struct glock__peek_counts counts;
	char *chunk, *again;
};

static const struct {
	uint32_t stride;
	uint64_t most; /* records */
} areas[GLOCK__AREA_MAX] = {
    [GLOCK__AREA_RECORDS] = {sizeof(struct glock__record), MAX_RECORDS},
    [GLOCK__AREA_MORE] = {sizeof(struct glock__more), MAX_RECORDS},
    [GLOCK__AREA_THREADS] = {sizeof(struct glock__thread_record), 1 << 20},
    [GLOCK__AREA_TYPE_STATS] = {sizeof(struct glock__cpu_record), MAX_CPUS *GLOCK_TYPE_MAX},
    [GLOCK__AREA_HOLDERS] = {sizeof(struct glock__segment_holder), MAX_HOLDERS},
    [GLOCK__AREA_EXTRAS] = {sizeof(struct glock__segment_extra), MAX_EXTRAS},
    [GLOCK__AREA_TRACE] = {1, 1 << 30},
};

/* ---- reading ------------------------------------------------------------------------------- */

/* All of it, or less where the file ends; negative errno. */
static ssize_t read_at(const struct glock__peek *p, void *buf, size_t size, uint64_t at)
{
	size_t got = 0;

	while (got < size) {
		ssize_t n = pread(p->fd, (char *)buf + got, size - got, (off_t)(at + got));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (!n)
			break;
		got += (size_t)n;
	}
	return (ssize_t)got;
}

/* What a terminal might obey is not let through; ends with a NUL. */
static void clean(char *text, size_t size)
{
	text[size - 1] = '\0';
	for (char *c = text; *c; c++)
		if ((unsigned char)*c < 0x20 || *c == 0x7f)
			*c = '?';
}

/* ---- the head ------------------------------------------------------------------------------ */

/* The area's length, as far as the file goes and anybody would go. */
static void bound_area(struct glock__peek *p, enum glock__area i)
{
	struct glock__segment_area *a = &p->head.area[i];
	uint64_t used = a->used;
	uint64_t there = a->offset < p->file_size ? p->file_size - a->offset : 0;

	if (used > there)
		used = there;
	if (used > areas[i].most * areas[i].stride)
		used = areas[i].most * areas[i].stride;
	a->used = used - used % areas[i].stride;
}

static int check_head(struct glock__peek *p)
{
	struct glock__segment_head *h = &p->head;

	if (!h->magic)
		return -EAGAIN;
	if (h->magic != GLOCK__SEGMENT_MAGIC)
		return -EINVAL;
	if (h->version != GLOCK__SEGMENT_VERSION || h->head_size != sizeof(*h))
		return -EPROTO;
	if (!h->hz || h->hz > 1000000000 || !h->cpus || h->cpus > MAX_CPUS ||
	    h->types != GLOCK_TYPE_MAX || h->trace_order > 24)
		return -EINVAL;
	for (int i = 0; i < GLOCK__AREA_MAX; i++) {
		if (h->area[i].stride != areas[i].stride || h->area[i].offset % 64 ||
		    h->area[i].offset < sizeof(*h))
			return -EINVAL;
		bound_area(p, i);
	}
	clean(h->command, sizeof(h->command));
	clean(h->space, sizeof(h->space));
	clean(h->lockman, sizeof(h->lockman));
	for (int i = 0; i < GLOCK_TYPE_MAX; i++)
		clean(h->type[i].name, sizeof(h->type[i].name));
	return 0;
}

static int read_head(struct glock__peek *p)
{
	struct stat st;
	ssize_t n;

	if (fstat(p->fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	p->file_size = (uint64_t)st.st_size;
	n = read_at(p, &p->head, sizeof(p->head), 0);
	if (n < 0)
		return (int)n;
	if ((size_t)n < sizeof(p->head))
		return n ? -EINVAL : -EAGAIN;
	return check_head(p);
}

int glock__peek_open_fd(struct glock__peek **out, int fd)
{
	struct glock__peek *p = calloc(1, sizeof(*p));
	int err = -ENOMEM;

	if (!p) {
		close(fd);
		return err;
	}
	p->fd = fd;
	p->chunk = malloc(CHUNK);
	p->again = malloc(CHUNK);
	if (p->chunk && p->again)
		err = read_head(p);
	if (err) {
		glock__peek_close(p);
		return err;
	}
	*out = p;
	return 0;
}

int glock__peek_open(struct glock__peek **out, int dirfd, const char *path)
{
	int fd = openat(dirfd, path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);

	return fd < 0 ? -errno : glock__peek_open_fd(out, fd);
}

void glock__peek_close(struct glock__peek *p)
{
	if (!p)
		return;
	close(p->fd);
	free(p->holders);
	free(p->extras);
	free(p->more);
	free(p->chunk);
	free(p->again);
	free(p);
}

const struct glock__segment_head *glock__peek_head(const struct glock__peek *p)
{
	return &p->head;
}

int glock__peek_fd(const struct glock__peek *p)
{
	return p->fd;
}

/* ---- records ------------------------------------------------------------------------------- */

static uint32_t seq_of(const void *record)
{
	uint32_t seq;

	memcpy(&seq, record, sizeof(seq));
	return seq;
}

/*
 * Reads a record that was being changed once more. True: it is whole now; false: it is not, and
 * what there is of it is in `record`.
 */
static bool read_again(const struct glock__peek *p, char *record, uint32_t stride, uint64_t at)
{
	for (int i = 0; i < TRIES; i++) {
		uint32_t before, after;

		if (read_at(p, record, stride, at) != (ssize_t)stride ||
		    read_at(p, &after, sizeof(after), at) != sizeof(after))
			return false;
		before = seq_of(record);
		if (!(before & 1) && before == after)
			return true;
		sched_yield();
	}
	return false;
}

/* Takes one record in; false ends the reading. */
typedef bool take_fn(struct glock__peek *p, char *record, bool torn, void *arg);

/*
 * Over a hole, which a file that says it is large may consist of; whole records from the area's
 * beginning. Where the file system does not tell of holes there are none.
 */
static uint64_t skip_hole(const struct glock__peek *p, uint64_t offset, uint64_t at,
			  uint32_t stride)
{
	off_t data = lseek(p->fd, (off_t)(offset + at), SEEK_DATA);

	if (data < 0)
		return errno == ENXIO ? UINT64_MAX : at;
	if ((uint64_t)data <= offset + at)
		return at;
	at = (uint64_t)data - offset;
	return at - at % stride;
}

/* Calls take for every record of an area that was ever written. */
static int read_area(struct glock__peek *p, enum glock__area area, take_fn *take, void *arg)
{
	const struct glock__segment_area *a = &p->head.area[area];
	uint32_t stride = areas[area].stride;
	uint64_t used = a->used;
	size_t size = CHUNK - CHUNK % stride;

	for (uint64_t at = 0; at < used; at += size) {
		size_t want;
		ssize_t n, m;

		at = skip_hole(p, a->offset, at, stride);
		if (at >= used)
			break;
		want = used - at < size ? (size_t)(used - at) : size;
		n = read_at(p, p->chunk, want, a->offset + at);
		if (n < 0)
			return (int)n;
		/* in pages that were never touched there is nothing to look at twice */
		m = read_at(p, p->again, (size_t)n, a->offset + at);
		if (m < 0)
			return (int)m;
		for (size_t i = 0; i + stride <= (size_t)m; i += stride) {
			char *record = p->chunk + i;
			uint32_t seq = seq_of(record);
			bool torn = false;

			if (!seq && !seq_of(p->again + i))
				continue;
			if (seq & 1 || seq != seq_of(p->again + i))
				torn = !read_again(p, record, stride, a->offset + at + i);
			if (!take(p, record, torn, arg))
				return 0;
		}
		if ((size_t)m < want)
			break;
	}
	return 0;
}

/* ---- holders and extras -------------------------------------------------------------------- */

/*
 * The place behind the last element; the array grows with what is found, not with what the file
 * claims. NULL: no memory, which ends the reading.
 */
static void *place_for_one(struct glock__peek *p, void *array, size_t n, size_t *room, size_t size)
{
	char *at;

	memcpy(&at, array, sizeof(at)); /* a pointer to whatever it is an array of */
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

static bool take_holder(struct glock__peek *p, char *record, bool torn, void *arg)
{
	struct glock__segment_holder *h =
	    place_for_one(p, &p->holders, p->n_holders, &p->room_holders, sizeof(*h));

	(void)arg;
	if (!h)
		return false;
	memcpy(h, record, sizeof(*h));
	if (h->type == GLOCK__SEGMENT_FREE)
		return true;
	if (h->type >= GLOCK_TYPE_MAX || h->mode >= GLOCK_MODE_MAX) {
		p->counts.bad++;
		return true;
	}
	clean(h->comm, sizeof(h->comm));
	clean(h->where, sizeof(h->where));
	p->counts.torn += torn;
	p->n_holders++;
	return true;
}

/* Lines of a blank and something; whatever else is dropped. */
static void clean_object(struct glock__segment_extra *e)
{
	size_t len = e->object_len < sizeof(e->object) ? e->object_len : sizeof(e->object);
	char *to = e->object, *end = e->object + len;

	for (char *line = e->object, *next; line < end; line = next) {
		char *nl = memchr(line, '\n', (size_t)(end - line));

		next = nl ? nl + 1 : end;
		if (*line != ' ' || !nl)
			continue;
		for (char *c = line; c < nl; c++)
			if ((unsigned char)*c < 0x20 || *c == 0x7f)
				*c = '?';
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
	if (e->type == GLOCK__SEGMENT_FREE)
		return true;
	if (e->type >= GLOCK_TYPE_MAX || e->waited < 0 || e->longest < 0) {
		p->counts.bad++;
		return true;
	}
	clean_object(e);
	p->counts.torn += torn;
	p->n_extras++;
	return true;
}

/* A holder that stands in a slot of its thread, of which less is known: see thread.h. */
static bool take_slot(struct glock__peek *p, const struct glock__thread_record *t, uint64_t slot)
{
	const struct glock__segment_area *a = &p->head.area[GLOCK__AREA_RECORDS];
	struct glock__segment_holder *h =
	    place_for_one(p, &p->holders, p->n_holders, &p->room_holders, sizeof(*h));
	uint64_t at = (uint32_t)slot * (uint64_t)sizeof(struct glock__record);
	uint64_t mode = slot / GLOCK__SLOT_MODE(1);
	struct glock__record r;

	if (!h)
		return false;
	if (slot & GLOCK__UNSEEN)
		return true; /* its record lies where nobody sees it */
	if (at + sizeof(r) > a->used || mode >= GLOCK_MODE_MAX ||
	    read_at(p, &r, sizeof(r), a->offset + at) != sizeof(r) || r.type >= GLOCK_TYPE_MAX) {
		p->counts.bad++;
		return true;
	}
	if (!(r.flags & GLOCK__R_LIVE))
		return true; /* it was let go meanwhile, and is gone */
	*h = (struct glock__segment_holder){
	    .type = r.type,
	    .mode = (uint8_t)mode,
	    .flags = GLOCK__H_HOLDER,
	    .pid = (int32_t)t->tid,
	    .number = r.number,
	    .where = "-",
	};
	memcpy(h->comm, t->comm, sizeof(h->comm));
	clean(h->comm, sizeof(h->comm));
	p->n_holders++;
	return true;
}

static bool take_thread(struct glock__peek *p, char *record, bool torn, void *arg)
{
	struct glock__thread_record t;

	(void)torn;
	(void)arg;
	memcpy(&t, record, sizeof(t));
	if (!(t.flags & GLOCK__R_LIVE))
		return true;
	for (unsigned int i = 0; i < GLOCK__THREAD_SLOTS; i++)
		if (t.used & 1u << i && !take_slot(p, &t, t.slots[i]))
			return false;
	return true;
}

/* Its process writes it a field at a time, and has no sequence number for it. */
static bool take_more(struct glock__peek *p, char *record, bool torn, void *arg)
{
	struct glock__more *m = place_for_one(p, &p->more, p->n_more, &p->room_more, sizeof(*m));

	(void)torn;
	(void)arg;
	if (!m)
		return false;
	memcpy(m, record, sizeof(*m));
	if (!(m->flags & GLOCK__R_LIVE))
		return true;
	if (m->type >= GLOCK_TYPE_MAX || m->hold < 0)
		p->counts.bad++;
	else
		p->n_more++;
	return true;
}

static int by_u64(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int by_name(unsigned int type_a, uint64_t number_a, unsigned int type_b, uint64_t number_b)
{
	return type_a != type_b ? (type_a > type_b) - (type_a < type_b)
				: by_u64(number_a, number_b);
}

static int by_holder(const void *a, const void *b)
{
	const struct glock__segment_holder *x = a, *y = b;
	int c = by_name(x->type, x->number, y->type, y->number);
	bool x_has = x->flags & GLOCK__H_HOLDER, y_has = y->flags & GLOCK__H_HOLDER;

	if (c)
		return c;
	return x_has != y_has ? y_has - x_has : by_u64(x->order, y->order);
}

static int by_extra(const void *a, const void *b)
{
	const struct glock__segment_extra *x = a, *y = b;

	return by_name(x->type, x->number, y->type, y->number);
}

static int by_more(const void *a, const void *b)
{
	const struct glock__more *x = a, *y = b;

	return by_name(x->type, x->number, y->type, y->number);
}

static int read_sparse(struct glock__peek *p)
{
	int err;

	p->n_holders = p->n_extras = p->n_more = 0;
	p->no_memory = false;
	err = read_area(p, GLOCK__AREA_HOLDERS, take_holder, NULL);
	if (!err)
		err = read_area(p, GLOCK__AREA_THREADS, take_thread, NULL);
	if (!err)
		err = read_area(p, GLOCK__AREA_EXTRAS, take_extra, NULL);
	if (!err)
		err = read_area(p, GLOCK__AREA_MORE, take_more, NULL);
	if (p->n_more)
		qsort(p->more, p->n_more, sizeof(*p->more), by_more);
	if (p->n_holders)
		qsort(p->holders, p->n_holders, sizeof(*p->holders), by_holder);
	if (p->n_extras)
		qsort(p->extras, p->n_extras, sizeof(*p->extras), by_extra);
	p->counts.holders = p->n_holders;
	p->counts.extras = p->n_extras;
	return p->no_memory ? -ENOMEM : err;
}

/* ---- glocks -------------------------------------------------------------------------------- */

struct reading {
	glock__peek_fn *fn;
	void *arg;
};

static void find_holders(const struct glock__peek *p, struct glock__peek_glock *gl)
{
	size_t low = 0, high = p->n_holders;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		const struct glock__segment_holder *h = &p->holders[mid];

		if (by_name(h->type, h->number, gl->r.type, gl->r.number) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	gl->holders = p->holders + low;
	while (low + gl->n_holders < p->n_holders &&
	       !by_name(gl->holders[gl->n_holders].type, gl->holders[gl->n_holders].number,
			gl->r.type, gl->r.number))
		gl->n_holders++;
}

static bool take_record(struct glock__peek *p, char *record, bool torn, void *arg)
{
	struct reading *reading = arg;
	struct glock__peek_glock gl = {.torn = torn};
	struct glock__segment_extra key;
	struct glock__more more;

	memcpy(&gl.r, record, sizeof(gl.r));
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
	return reading->fn(reading->arg, &gl);
}

int glock__peek_read(struct glock__peek *p, glock__peek_fn *fn, void *arg,
		     struct glock__peek_counts *counts)
{
	struct reading reading = {fn, arg};
	int err;

	p->counts = (struct glock__peek_counts){0};
	err = read_head(p);
	if (!err)
		err = read_sparse(p);
	if (!err)
		err = read_area(p, GLOCK__AREA_RECORDS, take_record, &reading);
	if (counts)
		*counts = p->counts;
	return err;
}

int glock__peek_users(struct glock__peek *p, unsigned int type, uint64_t number)
{
	struct glock__peek_glock gl = {.r = {.type = (uint8_t)type, .number = number}};
	int err = read_head(p);

	if (!err)
		err = read_sparse(p);
	if (err)
		return err;
	find_holders(p, &gl);
	return (int)gl.n_holders;
}

void glock__peek_stats(struct glock__peek *p, unsigned int type, unsigned int cpu,
		       struct glock__stats *out)
{
	const struct glock__segment_area *a = &p->head.area[GLOCK__AREA_TYPE_STATS];
	struct glock__cpu_record s;
	uint64_t at = ((uint64_t)cpu * GLOCK_TYPE_MAX + type) * sizeof(s);

	memset(out, 0, sizeof(*out));
	if (type >= GLOCK_TYPE_MAX || cpu >= p->head.cpus || at + sizeof(s) > a->used)
		return;
	read_again(p, (char *)&s, sizeof(s), a->offset + at);
	*out = s.stats;
}

/* ---- events -------------------------------------------------------------------------------- */

int glock__peek_trace_until(const char *path, int64_t until)
{
	int fd = open(path, O_WRONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK), err = 0;
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = pwrite(fd, &until, sizeof(until), offsetof(struct glock__segment_head, trace_until));
	if (n != sizeof(until))
		err = n < 0 ? -errno : -EIO;
	close(fd);
	return err;
}

/* Event n, as the ring's own reader would: 1, 0: not written yet, -ESTALE: written over. */
static int read_slot(const struct glock__peek *p, uint64_t at, uint64_t n, struct glock__event *ev)
{
	struct glock__ring_slot slot;
	uint64_t again;

	if (read_at(p, &slot, sizeof(slot), at) != sizeof(slot) ||
	    read_at(p, &again, sizeof(again), at) != sizeof(again))
		return -ESTALE;
	if (slot.owner != 2 * n + 2)
		return slot.owner > 2 * n + 2 ? -ESTALE : 0;
	if (again != slot.owner)
		return -ESTALE;
	memcpy(ev, slot.words, sizeof(*ev));
	return 1;
}

int glock__peek_event(struct glock__peek *p, uint64_t *cursor, struct glock__event *ev,
		      uint64_t *lost)
{
	const struct glock__segment_area *a = &p->head.area[GLOCK__AREA_TRACE];
	uint64_t size = (uint64_t)1 << p->head.trace_order, at, head;
	int ret = -ESTALE;

	if (!p->head.trace_order || !a->used)
		return -EOPNOTSUPP;
	if (read_at(p, &head, sizeof(head), a->offset) != sizeof(head))
		return -EIO;
	if (*cursor == head)
		return 0;
	at = a->offset + offsetof(struct glock__ring_image, slots) +
	     (*cursor & (size - 1)) * sizeof(struct glock__ring_slot);
	if (head - *cursor <= size)
		ret = read_slot(p, at, *cursor, ev);
	return glock__ring_step(size - 1, head, ret, ev, cursor, lost);
}

int glock__peek_refresh(struct glock__peek *p)
{
	return read_head(p);
}
