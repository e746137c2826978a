/* SPDX-License-Identifier: MIT */
/*
 * frames.c - writes, reads and finds the frames of a recording's file.
 */
#include "frames.h"

#include "delta.h"
#include "o2top/base/grow.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

static const char file_magic[] = "o2top recording\n", frame_magic[] = "o2tF";

/* Sizes in the file, where no NUL ends a text. */
enum { FILE_MAGIC = sizeof(file_magic) - 1, FRAME_MAGIC = sizeof(frame_magic) - 1 };
enum { FILE_HEAD = 24, FRAME_HEAD = 24, LEVEL = 6 };

/*
 * Bounds of unpacking, because a damaged or forged frame must not take all memory: the window, and
 * the size as a multiple of the packed one. The recordings of the tests shrink to a tenth.
 */
enum { WINDOW_LOG = 23, UNPACK_RATIO = 1024, PAYLOAD_LEAST = 1 << 16 };

/* ---- bytes --------------------------------------------------------------------------------- */

static void frames_put(unsigned char *to, uint64_t v, unsigned bytes)
{
	for (; bytes--; v >>= 8)
		*to++ = (unsigned char)v;
}

static uint64_t frames_get(const unsigned char *from, unsigned bytes)
{
	uint64_t v = 0;

	while (bytes--)
		v = v << 8 | from[bytes];
	return v;
}

/* Returns FNV-1a of a head without its checksum. */
static uint32_t head_checksum(const unsigned char head[FRAME_HEAD])
{
	uint32_t hash = 2166136261u;

	for (unsigned i = 0; i < FRAME_HEAD; i++)
		hash = (hash ^ (i >= 12 && i < 16 ? 0 : head[i])) * 16777619u;
	return hash;
}

static void make_head(unsigned char head[FRAME_HEAD], enum frame_kind kind, uint32_t length,
		      int64_t time_us)
{
	memcpy(head, frame_magic, FRAME_MAGIC);
	frames_put(head + 4, kind, 4);
	frames_put(head + 8, length, 4);
	frames_put(head + 12, 0, 4);
	frames_put(head + 16, (uint64_t)time_us, 8);
	frames_put(head + 12, head_checksum(head), 4);
}

static bool is_head(const unsigned char head[FRAME_HEAD])
{
	return memcmp(head, frame_magic, FRAME_MAGIC) == 0 &&
	       frames_get(head + 12, 4) == head_checksum(head);
}

/* ---- reading ------------------------------------------------------------------------------- */

static ssize_t read_at(const struct frames *f, size_t part, void *buf, size_t size, uint64_t offset)
{
	size_t done = 0;

	if (f->memory) {
		if (offset >= f->memory_size)
			return 0;
		size = size < f->memory_size - offset ? size : f->memory_size - (size_t)offset;
		memcpy(buf, f->memory + offset, size);
		return (ssize_t)size;
	}
	while (done < size) {
		ssize_t n =
		    pread(f->fds[part], (char *)buf + done, size - done, (off_t)(offset + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		done += (size_t)n;
	}
	return (ssize_t)done;
}

static int add_place(struct frames *f, const struct frame_place *place)
{
	if (!grow(&f->list, f->n, &f->room, sizeof(*f->list)))
		return -ENOMEM;
	f->list[f->n++] = *place;
	return 0;
}

/*
 * Finds the next head of a part from `offset` on, after damage. Returns its offset, or `end`. The
 * next head may be near, and a forged file has a damaged one every 24 bytes. So the first read is
 * short.
 */
static uint64_t look_for_head(const struct frames *f, size_t part, uint64_t offset, uint64_t end)
{
	unsigned char buf[64 * 1024];

	for (size_t size = 512; offset + FRAME_HEAD <= end;
	     size = size < sizeof(buf) ? size * 2 : size) {
		ssize_t n = read_at(f, part, buf, size, offset);

		if (n < FRAME_HEAD)
			break;
		for (size_t i = 0; i + FRAME_HEAD <= (size_t)n; i++)
			if (buf[i] == (unsigned char)frame_magic[0] && is_head(buf + i))
				return offset + i;
		offset += (uint64_t)n - FRAME_HEAD + 1;
	}
	return end;
}

struct scan_state {
	struct frames *f;
	const char *label;
	struct problems *problems;
	size_t part;
	uint64_t end;
	bool broken;
	size_t unknown;
};

static int take_head(struct scan_state *s, uint64_t offset, const unsigned char *head)
{
	struct frame_place place = {.offset = offset + FRAME_HEAD,
				    .length = (uint32_t)frames_get(head + 8, 4),
				    .kind = (uint32_t)frames_get(head + 4, 4),
				    .time_us = (int64_t)frames_get(head + 16, 8),
				    .part = (uint32_t)s->part,
				    .broken = s->broken};

	/* Times are added and subtracted, so a time that no clock shows counts as none. */
	if (place.time_us > INT64_MAX / 4 || place.time_us < -INT64_MAX / 4)
		place.time_us = INT64_MIN;
	s->broken = false;
	s->f->end = place.offset + place.length;
	if (place.kind == 0 || place.kind >= FRAME_KINDS) {
		s->unknown++;
		return 0;
	}
	return add_place(s->f, &place);
}

static int scan_frames(struct scan_state *s)
{
	unsigned char head[FRAME_HEAD];
	uint64_t at = FILE_HEAD;
	int err = 0;

	while (!err && at < s->end) {
		ssize_t n = read_at(s->f, s->part, head, sizeof(head), at);
		uint64_t next;

		if (n < 0)
			return (int)n;
		if (n < FRAME_HEAD) {
			problem(s->problems, s->label, 0,
				"cut off: the last %zd bytes are not a sample", n);
			break;
		}
		if (!is_head(head)) {
			next = look_for_head(s->f, s->part, at + 1, s->end);
			problem(s->problems, s->label, 0, "damaged: o2top skips bytes %llu to %llu",
				(unsigned long long)at, (unsigned long long)next);
			s->broken = true;
			at = next;
			continue;
		}
		next = at + FRAME_HEAD + frames_get(head + 8, 4);
		if (next > s->end) {
			/*
			 * The frame is cut off, or its length is wrong. Other frames may follow it.
			 */
			uint64_t other = look_for_head(s->f, s->part, at + 1, s->end);

			problem(s->problems, s->label, 0,
				"cut off: the sample at byte %llu has %llu of its %llu bytes",
				(unsigned long long)at,
				(unsigned long long)(s->end - at - FRAME_HEAD),
				(unsigned long long)(next - at - FRAME_HEAD));
			s->broken = true;
			at = other;
			continue;
		}
		err = take_head(s, at, head);
		at = next;
	}
	if (s->unknown)
		problem(
		    s->problems, s->label, 0,
		    "this o2top skips %zu parts that it does not know: a newer o2top wrote them",
		    s->unknown);
	return err;
}

/* Adds the frames of a part. `end` is its size. */
static int add_part(struct frames *f, size_t part, uint64_t end, const char *label,
		    struct problems *problems)
{
	/* A part that does not begin with a key lacks the samples before it. */
	struct scan_state s = {
	    .f = f, .label = label, .problems = problems, .part = part, .end = end, .broken = part};
	unsigned char head[FILE_HEAD];
	ssize_t n = read_at(f, part, head, sizeof(head), 0);

	if (n < 0)
		return (int)n;
	if (n < FILE_HEAD || memcmp(head, file_magic, FILE_MAGIC) != 0)
		return -EBADMSG;
	if (frames_get(head + 16, 4) != FRAMES_FORMAT)
		problem(problems, label, 0,
			"the format is %llu and this o2top knows %d: it shows the readable parts",
			(unsigned long long)frames_get(head + 16, 4), FRAMES_FORMAT);
	f->end = FILE_HEAD;
	return scan_frames(&s);
}

/* Opens a regular file for reading. Returns its descriptor or a negative errno. */
static int open_part(const char *path, struct stat *st)
{
	int err, fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);

	if (fd < 0)
		return -errno;
	if (fstat(fd, st) == 0 && S_ISREG(st->st_mode))
		return fd;
	err = S_ISREG(st->st_mode) ? -errno : -EBADMSG;
	close(fd);
	return err;
}

/* Adds the frames of an open file. The frames own fd, also after an error. */
static int add_file(struct frames *f, int fd, uint64_t size, const char *path,
		    struct problems *problems)
{
	f->fds[f->n_fds++] = fd;
	return add_part(f, f->n_fds - 1, size, path, problems);
}

int frames_open(struct frames *f, const char *path, struct problems *problems)
{
	struct stat st = {0};
	int err, fd = open_part(path, &st);

	*f = (struct frames){0};
	if (fd < 0)
		return fd;
	err = add_file(f, fd, (uint64_t)st.st_size, path, problems);
	if (err)
		frames_close(f);
	return err;
}

/* The files of a set, the newest first, while they are opened. */
struct set {
	struct {
		int fd;
		unsigned number;
		struct stat st;
	} list[PARTS_MOST];
	size_t n;
};

static bool is_in_set(const struct set *set, const struct stat *st)
{
	for (size_t i = 0; i < set->n; i++)
		if (set->list[i].st.st_ino == st->st_ino && set->list[i].st.st_dev == st->st_dev)
			return true;
	return false;
}

/*
 * Opens the files of a set, the newest first. A recorder may rotate meanwhile. Then a file is met
 * again under its next name, and no file is missed.
 */
static int open_set(struct set *set, const char *path)
{
	int first = 0;

	for (unsigned i = 0; i < PARTS_MOST; i++) {
		struct stat st = {0};
		char *name = part_name(path, i);
		int fd = name ? open_part(name, &st) : -ENOMEM;

		free(name);
		if (i == 0)
			first = fd;
		if (fd < 0)
			continue;
		if (is_in_set(set, &st)) {
			close(fd);
			continue;
		}
		set->list[set->n].fd = fd;
		set->list[set->n].st = st;
		set->list[set->n++].number = i;
	}
	return set->n ? 0 : first;
}

int frames_open_set(struct frames *f, const char *path, struct problems *problems)
{
	struct set set = {.n = 0};
	int err, newest = -EBADMSG;

	*f = (struct frames){0};
	err = open_set(&set, path);
	while (set.n--) {
		char *name = part_name(path, set.list[set.n].number);
		int got = -ENOMEM;

		if (name && !err)
			got = add_file(f, set.list[set.n].fd, (uint64_t)set.list[set.n].st.st_size,
				       name, problems);
		else
			close(set.list[set.n].fd);
		newest = got;
		/* An empty file is one that a full disk left behind. */
		if (got == -EBADMSG && set.list[set.n].number && set.list[set.n].st.st_size)
			problem(problems, name, 0, "not a recording of o2top: o2top skips it");
		else if (got != -EBADMSG)
			err = err ? err : got;
		free(name);
	}
	/* Without any frame, the file that was named tells the reason. */
	if (!err && !f->n)
		err = newest;
	if (err)
		frames_close(f);
	return err;
}

int frames_open_memory(struct frames *f, const void *bytes, size_t size, const char *label,
		       struct problems *problems)
{
	int err;

	*f = (struct frames){.memory = bytes, .memory_size = size};
	err = add_part(f, 0, size, label, problems);
	if (err)
		frames_close(f);
	return err;
}

/*
 * Unpacks a payload as a stream. Memory grows with the unpacked bytes and never by the size that
 * the payload's head claims. Returns 0, -EBADMSG or -ENOMEM. The caller frees out->dst after an
 * error, too.
 */
static int unpack_stream(ZSTD_DCtx *zstd, const void *packed, size_t length, ZSTD_outBuffer *out)
{
	const size_t most = PAYLOAD_LEAST + UNPACK_RATIO * length;
	ZSTD_inBuffer in = {packed, length, 0};
	size_t left = 1;

	if (ZSTD_isError(ZSTD_DCtx_setParameter(zstd, ZSTD_d_windowLogMax, WINDOW_LOG)))
		return -ENOMEM;
	while (left) {
		size_t before = in.pos + out->pos, room = out->size ? 2 * out->size : PAYLOAD_LEAST;
		char *more;

		if (out->pos == out->size) {
			if (room > most + 1)
				room = most + 1;
			more = out->pos > most ? NULL : realloc(out->dst, room);
			if (!more)
				return out->pos > most ? -EBADMSG : -ENOMEM;
			out->dst = more;
			out->size = room;
		}
		left = ZSTD_decompressStream(zstd, out, &in);
		/* a step without progress: the stream ends too early */
		if (ZSTD_isError(left) || (left && in.pos + out->pos == before))
			return -EBADMSG;
	}
	return in.pos == length && out->pos <= most ? 0 : -EBADMSG;
}

int frames_read(const struct frames *f, size_t i, unsigned char **payload, size_t *size)
{
	const struct frame_place *place = &f->list[i];
	void *packed = malloc(place->length ? place->length : 1);
	ZSTD_DCtx *zstd = ZSTD_createDCtx();
	ZSTD_outBuffer out = {NULL, 0, 0};
	ssize_t n;
	int err = packed && zstd ? 0 : -ENOMEM;

	if (!err) {
		n = read_at(f, place->part, packed, place->length, place->offset);
		err = n < 0 ? (int)n : (size_t)n < place->length ? -EBADMSG : 0;
	}
	if (!err)
		err = unpack_stream(zstd, packed, place->length, &out);
	ZSTD_freeDCtx(zstd);
	free(packed);
	if (err) {
		free(out.dst);
		out.dst = NULL;
	}
	*payload = out.dst;
	*size = out.pos;
	return err;
}

void frames_close(struct frames *f)
{
	for (size_t i = 0; i < f->n_fds; i++)
		close(f->fds[i]);
	free(f->list);
	*f = (struct frames){0};
}

/* ---- writing ------------------------------------------------------------------------------- */

static int write_all(int fd, const unsigned char *bytes, size_t n)
{
	while (n) {
		ssize_t done = write(fd, bytes, n);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return -errno;
		bytes += done;
		n -= (size_t)done;
	}
	return 0;
}

static int start_file(int fd)
{
	unsigned char head[FILE_HEAD] = {0};
	int err;

	memcpy(head, file_magic, FILE_MAGIC);
	frames_put(head + 16, FRAMES_FORMAT, 4);
	err = write_all(fd, head, sizeof(head));
	/* A part of a head would be no recording. An empty file is begun again. */
	if (err && ftruncate(fd, 0) < 0)
		return -errno;
	return err;
}

/*
 * Prepares a file for appending, and cuts the bytes behind the last whole frame away. Behind a
 * frame that was cut off, a reader would not find the next one at once.
 */
static int continue_file(int fd, uint64_t size)
{
	struct problems problems = {0};
	unsigned char head[FILE_HEAD];
	struct frames f = {.fds = {fd}, .n_fds = 1};
	int err = add_part(&f, 0, size, "", &problems);

	if (!err && read_at(&f, 0, head, sizeof(head), 0) == FILE_HEAD &&
	    frames_get(head + 16, 4) != FRAMES_FORMAT)
		err = -EPROTO;
	else if (!err && ftruncate(fd, (off_t)f.end) < 0)
		err = -errno;
	f.n_fds = 0; /* the caller closes fd */
	frames_close(&f);
	problems_clear(&problems);
	return err;
}

int frames_prepare(int fd, uint64_t *size)
{
	struct stat st;
	int err;

	/* A file system without locks is no reason to record nothing. */
	if (flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK)
		return -EWOULDBLOCK;
	if (fstat(fd, &st) < 0)
		return -errno;
	err = st.st_size ? continue_file(fd, (uint64_t)st.st_size) : start_file(fd);
	if (!err && fstat(fd, &st) < 0)
		err = -errno;
	*size = (uint64_t)st.st_size;
	return err;
}

ssize_t frames_append(int fd, enum frame_kind kind, int64_t time_us, const struct pack *payload)
{
	size_t room = ZSTD_compressBound(payload->n), n;
	unsigned char *frame = malloc(FRAME_HEAD + room);
	ZSTD_CCtx *zstd = ZSTD_createCCtx();
	off_t before = lseek(fd, 0, SEEK_END);
	ssize_t err = -ENOMEM;

	if (frame && zstd) {
		ZSTD_CCtx_setParameter(zstd, ZSTD_c_compressionLevel, LEVEL);
		ZSTD_CCtx_setParameter(zstd, ZSTD_c_checksumFlag, 1);
		n = ZSTD_compress2(zstd, frame + FRAME_HEAD, room, payload->data, payload->n);
		err = ZSTD_isError(n) || n > UINT32_MAX ? -ENOMEM : 0;
		if (!err) {
			make_head(frame, kind, (uint32_t)n, time_us);
			err = write_all(fd, frame, FRAME_HEAD + n);
			/*
			 * Half a frame would hide the next frame from a recorder that appends
			 * later.
			 */
			if (err && before >= 0 && ftruncate(fd, before) < 0)
				err = -errno;
			else if (!err)
				err = (ssize_t)(FRAME_HEAD + n);
		}
	}
	ZSTD_freeCCtx(zstd);
	free(frame);
	return err;
}
