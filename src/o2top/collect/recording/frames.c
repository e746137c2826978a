/* SPDX-License-Identifier: MIT */
/*
 * frames.c - writes, reads and finds the frames of a recording's file.
 */
#include "frames.h"

#include "o2top/base/grow.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

static const char file_magic[16] = "o2top recording\n";
static const char frame_magic[4] = "o2tF";

enum { FILE_HEAD = 24, FRAME_HEAD = 24, LEVEL = 6 };

/* A sample unpacks to at most this size, because a damaged head must not take all memory. */
#define PAYLOAD_LARGEST ((unsigned long long)1 << 33)

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
	memcpy(head, frame_magic, 4);
	frames_put(head + 4, kind, 4);
	frames_put(head + 8, length, 4);
	frames_put(head + 12, 0, 4);
	frames_put(head + 16, (uint64_t)time_us, 8);
	frames_put(head + 12, head_checksum(head), 4);
}

static bool is_head(const unsigned char head[FRAME_HEAD])
{
	return memcmp(head, frame_magic, 4) == 0 && frames_get(head + 12, 4) == head_checksum(head);
}

/* ---- reading ------------------------------------------------------------------------------- */

static ssize_t read_at(const struct frames *f, void *buf, size_t size, uint64_t offset)
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
		ssize_t n = pread(f->fd, (char *)buf + done, size - done, (off_t)(offset + done));

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

/* Finds the next head from `offset` on, after damage. Returns its offset, or `end`. */
static uint64_t look_for_head(const struct frames *f, uint64_t offset, uint64_t end)
{
	unsigned char buf[64 * 1024];

	while (offset + FRAME_HEAD <= end) {
		ssize_t n = read_at(f, buf, sizeof(buf), offset);

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
		ssize_t n = read_at(s->f, head, sizeof(head), at);
		uint64_t next;

		if (n < 0)
			return (int)n;
		if (n < FRAME_HEAD) {
			problem(s->problems, s->label, 0,
				"cut off: the last %zd bytes are not a sample", n);
			break;
		}
		if (!is_head(head)) {
			next = look_for_head(s->f, at + 1, s->end);
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
			uint64_t other = look_for_head(s->f, at + 1, s->end);

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

static int open_any(struct frames *f, uint64_t end, const char *label, struct problems *problems)
{
	struct scan_state s = {.f = f, .label = label, .problems = problems, .end = end};
	unsigned char head[FILE_HEAD];
	ssize_t n = read_at(f, head, sizeof(head), 0);

	if (n < 0)
		return (int)n;
	if (n < FILE_HEAD || memcmp(head, file_magic, sizeof(file_magic)) != 0)
		return -EBADMSG;
	if (frames_get(head + 16, 4) != FRAMES_FORMAT)
		problem(problems, label, 0,
			"the format is %llu and this o2top knows %d: it shows the readable parts",
			(unsigned long long)frames_get(head + 16, 4), FRAMES_FORMAT);
	f->end = FILE_HEAD;
	return scan_frames(&s);
}

int frames_open(struct frames *f, const char *path, struct problems *problems)
{
	struct stat st;
	int err;

	*f = (struct frames){.fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)};
	if (f->fd < 0)
		return -errno;
	if (fstat(f->fd, &st) < 0)
		err = -errno;
	else if (!S_ISREG(st.st_mode))
		err = -EBADMSG;
	else
		err = open_any(f, (uint64_t)st.st_size, path, problems);
	if (err)
		frames_close(f);
	return err;
}

int frames_open_memory(struct frames *f, const void *bytes, size_t size, const char *label,
		       struct problems *problems)
{
	int err;

	*f = (struct frames){.fd = -1, .memory = bytes, .memory_size = size};
	err = open_any(f, size, label, problems);
	if (err)
		frames_close(f);
	return err;
}

int frames_read(const struct frames *f, size_t i, unsigned char **payload, size_t *size)
{
	const struct frame_place *place = &f->list[i];
	unsigned long long whole;
	void *packed = malloc(place->length ? place->length : 1);
	ssize_t n;
	int err = packed ? 0 : -ENOMEM;

	*payload = NULL;
	if (!err) {
		n = read_at(f, packed, place->length, place->offset);
		err = n < 0 ? (int)n : (size_t)n < place->length ? -EBADMSG : 0;
	}
	whole = err ? 0 : ZSTD_getFrameContentSize(packed, place->length);
	if (!err && (whole == ZSTD_CONTENTSIZE_UNKNOWN || whole == ZSTD_CONTENTSIZE_ERROR ||
		     whole > PAYLOAD_LARGEST))
		err = -EBADMSG;
	if (!err && !(*payload = malloc((size_t)whole + 1)))
		err = -ENOMEM;
	if (!err && ZSTD_isError(ZSTD_decompress(*payload, (size_t)whole, packed, place->length)))
		err = -EBADMSG;
	free(packed);
	if (err) {
		free(*payload);
		*payload = NULL;
	}
	*size = (size_t)whole;
	return err;
}

void frames_close(struct frames *f)
{
	if (f->fd >= 0)
		close(f->fd);
	free(f->list);
	*f = (struct frames){.fd = -1};
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

	memcpy(head, file_magic, sizeof(file_magic));
	frames_put(head + 16, FRAMES_FORMAT, 4);
	return write_all(fd, head, sizeof(head));
}

/*
 * Prepares a file for appending, and cuts the bytes behind the last whole frame away. Behind a
 * frame that was cut off, a reader would not find the next one at once.
 */
static int continue_file(int fd, const char *path)
{
	struct problems problems = {0};
	unsigned char head[FILE_HEAD];
	struct frames f;
	int err = frames_open(&f, path, &problems);

	if (!err) {
		if (read_at(&f, head, sizeof(head), 0) == FILE_HEAD &&
		    frames_get(head + 16, 4) != FRAMES_FORMAT)
			err = -EPROTO;
		else if (ftruncate(fd, (off_t)f.end) < 0)
			err = -errno;
		frames_close(&f);
	}
	problems_clear(&problems);
	return err;
}

int frames_create(int *out, const char *path)
{
	struct stat st;
	int err, fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY, 0600);

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0)
		err = -errno;
	else if (!S_ISREG(st.st_mode))
		err = -EBADMSG;
	else
		err = st.st_size ? continue_file(fd, path) : start_file(fd);
	if (err) {
		close(fd);
		return err;
	}
	*out = fd;
	return 0;
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
