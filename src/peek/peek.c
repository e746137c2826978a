/* SPDX-License-Identifier: MIT */
/* peek.c - opens a segment, reads its head and its areas; see peek.h. */
#include "peek_impl.h"

#include "base/clean.h"
#include "base/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * No process of this version publishes more. A file with larger numbers must not make a reader read
 * for ever.
 */
enum {
	MAX_CPUS = 8192,
	MAX_HOLDERS = 1 << 20,
	MAX_EXTRAS = 1 << 22,
	MAX_RECORDS = 1 << 24,
	MAX_SITES = 1 << 16,
	MAX_LENT = 1 << 20,
	MAX_HISTOGRAMS = 1 << 16,
	CHUNK = 256 * 1024,
	TRIES = 16,     /* for a record that changes during the read */
	PATIENCE = 256, /* yields for records that stay half written */
	CALL = 4096,    /* a call takes about as long as a copy of so many bytes */
};

static const struct {
	uint32_t stride;
	uint64_t most; /* records */
} areas[GLOCK__AREA_MAX] = {
    [GLOCK__AREA_RECORDS] = {sizeof(struct glock__record), MAX_RECORDS},
    [GLOCK__AREA_BUSY_RECORDS] = {sizeof(struct glock__busy_record), MAX_RECORDS},
    [GLOCK__AREA_THREADS] = {sizeof(struct glock__thread_record), 1 << 20},
    [GLOCK__AREA_TYPE_STATS] = {sizeof(struct glock__cpu_record), MAX_CPUS *GLOCK_TYPE_MAX},
    [GLOCK__AREA_HOLDERS] = {sizeof(struct glock__segment_holder), MAX_HOLDERS},
    [GLOCK__AREA_EXTRAS] = {sizeof(struct glock__segment_extra), MAX_EXTRAS},
    [GLOCK__AREA_TRACE] = {1, 1 << 30},
    [GLOCK__AREA_SITES] = {sizeof(struct glock__segment_site), MAX_SITES},
    [GLOCK__AREA_LENT] = {sizeof(struct glock__lent_record), MAX_LENT},
    [GLOCK__AREA_HISTOGRAMS] = {sizeof(struct glock__type_histogram), MAX_HISTOGRAMS},
};

/* ---- reading ------------------------------------------------------------------------------- */

ssize_t glock__peek_at(const struct glock__peek *p, void *buf, size_t size, uint64_t at)
{
	size_t got = 0;

	if (!glock__peek_spend(p, size + CALL))
		return -EDQUOT;
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

void glock__peek_clean(char *text, size_t size)
{
	text[size - 1] = '\0';
	glock__clean(text, strlen(text));
}

/* ---- the head ------------------------------------------------------------------------------ */

/* Bounds the length of an area by the end of the file and by the limits above. */
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
	h->opened = glock__peek_time(p, h->opened);
	h->work_due = glock__peek_time(p, h->work_due);
	h->work_since = glock__peek_time(p, h->work_since);
	glock__peek_clean(h->command, sizeof(h->command));
	glock__peek_clean(h->space, sizeof(h->space));
	glock__peek_clean(h->lockman, sizeof(h->lockman));
	for (int i = 0; i < GLOCK_TYPE_MAX; i++)
		glock__peek_clean(h->type[i].name, sizeof(h->type[i].name));
	return 0;
}

int glock__peek_head_anew(struct glock__peek *p)
{
	struct stat st;
	ssize_t n;

	if (fstat(p->fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	p->file_size = (uint64_t)st.st_size;
	p->patience = PATIENCE;
	n = glock__peek_at(p, &p->head, sizeof(p->head), 0);
	if (n < 0)
		return (int)n;
	if ((size_t)n < sizeof(p->head))
		return n ? -EINVAL : -EAGAIN;
	return check_head(p);
}

int glock__peek_open_fd(struct glock__peek **out, int fd)
{
	struct glock__peek *p = calloc(1, sizeof(*p));
	struct glock__proc_ns ns;
	int err;

	if (!p) {
		close(fd);
		return -ENOMEM;
	}
	glock__proc_namespaces(&ns);
	p->clock_ahead = ns.clock;
	p->fd = fd;
	err = glock__peek_head_anew(p);
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

void glock__peek_count(struct glock__peek *p, uint64_t *read, uint64_t most)
{
	p->read = read;
	p->most = most;
}

bool glock__peek_spend(const struct glock__peek *p, uint64_t bytes)
{
	return !p->read || __atomic_add_fetch(p->read, bytes, __ATOMIC_RELAXED) <= p->most;
}

void glock__peek_close(struct glock__peek *p)
{
	if (!p)
		return;
	close(p->fd);
	free(p->holders);
	free(p->extras);
	free(p->more);
	free(p->lent);
	free(p->chunk);
	free(p->again);
	free(p);
}

const struct glock__segment_head *glock__peek_head(const struct glock__peek *p)
{
	return &p->head;
}

/* ---- records ------------------------------------------------------------------------------- */

static uint32_t seq_of(const void *record)
{
	uint32_t seq;

	memcpy(&seq, record, sizeof(seq));
	return seq;
}

/*
 * Reads a record that was being changed once more. Returns true if the record is consistent now. If
 * not, `record` has its parts. One pread copies in any order, because the kernel chooses the
 * fastest one. Therefore the sequence number is read by itself, before and after.
 *
 * A yield takes long on a busy machine, and a damaged file may have thousands of records that stay
 * half written. So the yields of a read are limited, until a record becomes consistent.
 */
static bool read_again(struct glock__peek *p, char *record, uint32_t stride, uint64_t at)
{
	for (int i = 0; i < TRIES; i++) {
		uint32_t before, after;

		if (glock__peek_at(p, &before, sizeof(before), at) != sizeof(before) ||
		    glock__peek_at(p, record, stride, at) != (ssize_t)stride ||
		    glock__peek_at(p, &after, sizeof(after), at) != sizeof(after))
			return false;
		if (!(before & 1) && before == after) {
			p->patience = PATIENCE;
			return true;
		}
		if (!p->patience)
			return false;
		p->patience--;
		sched_yield();
	}
	return false;
}

/*
 * Skips a hole of the file, because a file that claims to be large may consist of holes. Returns
 * the place of a whole record, counted from the area's beginning. On a file system that does not
 * report holes, nothing is skipped.
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

int glock__peek_area(struct glock__peek *p, enum glock__area area, glock__peek_take_fn *take,
		     void *arg)
{
	const struct glock__segment_area *a = &p->head.area[area];
	uint32_t stride = areas[area].stride;
	uint64_t used = a->used;
	size_t size = CHUNK - CHUNK % stride;

	p->chunk = p->chunk || !used ? p->chunk : malloc(CHUNK);
	p->again = p->again || !used ? p->again : malloc(CHUNK);
	if (used && (!p->chunk || !p->again))
		return -ENOMEM;
	for (uint64_t at = 0; at < used; at += size) {
		size_t want;
		ssize_t n, m;

		at = skip_hole(p, a->offset, at, stride);
		if (at >= used)
			break;
		want = used - at < size ? (size_t)(used - at) : size;
		n = glock__peek_at(p, p->chunk, want, a->offset + at);
		if (n < 0)
			return (int)n;
		/* The second copy is for the check below. Pages never touched need no check. */
		m = glock__peek_at(p, p->again, (size_t)n, a->offset + at);
		if (m < 0)
			return (int)m;
		for (size_t i = 0; i + stride <= (size_t)m; i += stride) {
			char *record = p->chunk + i;
			uint32_t seq = seq_of(record);
			bool torn = false;

			if (!seq && !seq_of(p->again + i))
				continue;
			/* If both copies are the same, the record did not change in between. */
			if (seq & 1 || memcmp(record, p->again + i, stride) != 0)
				torn = !read_again(p, record, stride, a->offset + at + i);
			if (!take(p, record, torn, arg))
				return 0;
		}
		if ((size_t)m < want)
			break;
	}
	return 0;
}

bool glock__peek_one(const struct glock__peek *p, enum glock__area area, uint64_t number,
		     void *record)
{
	const struct glock__segment_area *a = &p->head.area[area];
	uint32_t stride = areas[area].stride;

	return number < a->used / stride &&
	       glock__peek_at(p, record, stride, a->offset + number * stride) == (ssize_t)stride;
}

/* ---- statistics of types ---- */

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

struct histogram_sum {
	unsigned int type;
	uint64_t (*out)[GLOCK__BUCKETS];
};

/* Each count is read whole, because the process changes it by one instruction. */
static bool add_part(struct glock__peek *p, char *record, bool torn, void *arg)
{
	const struct histogram_sum *sum = arg;
	struct glock__type_histogram h;

	(void)p;
	(void)torn;
	memcpy(&h, record, sizeof(h));
	if (h.type != sum->type)
		return true;
	for (int i = 0; i < GLOCK__HISTOGRAM_MAX; i++)
		for (int k = 0; k < GLOCK__BUCKETS; k++)
			sum->out[i][k] += h.histogram[i][k];
	return true;
}

void glock__peek_histograms(struct glock__peek *p, unsigned int type,
			    uint64_t out[GLOCK__HISTOGRAM_MAX][GLOCK__BUCKETS])
{
	struct histogram_sum sum = {type, out};

	memset(out, 0, sizeof(out[0]) * GLOCK__HISTOGRAM_MAX);
	glock__peek_area(p, GLOCK__AREA_HISTOGRAMS, add_part, &sum);
}
