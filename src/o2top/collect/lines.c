/* SPDX-License-Identifier: MIT */
/*
 * lines.c - encodes and decodes a text against a pool of recent lines.
 */
#include "lines.h"

#include "o2top/base/grow.h"
#include "o2top/base/hash.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A delta is a sequence of these letters. Numbers follow each letter, with seven bits in a byte. */
enum { FORGET = 'F', RUN = 'R', NEW = 'N' };

enum { NOT_FOUND = UINT32_MAX, POOL_LEAST = 1024, POOL_MOST = 1 << 29 };

static int reserve(struct buffer *b, size_t len)
{
	size_t room = b->room ? b->room : 4096;
	char *more;

	if (b->room - b->len >= len)
		return 0;
	while (room - b->len < len)
		room *= 2;
	more = realloc(b->data, room);
	if (!more)
		return -ENOMEM;
	b->data = more;
	b->room = room;
	return 0;
}

int buffer_add(struct buffer *b, const void *data, size_t len)
{
	if (reserve(b, len))
		return -ENOMEM;
	if (len)
		memcpy(b->data + b->len, data, len);
	b->len += len;
	return 0;
}

int buffer_vprintf(struct buffer *b, const char *format, va_list args)
{
	va_list again;
	int n, err;

	va_copy(again, args);
	n = vsnprintf(NULL, 0, format, again);
	va_end(again);
	err = n < 0 ? -EINVAL : reserve(b, (size_t)n + 1);
	if (err)
		return err;
	vsnprintf(b->data + b->len, (size_t)n + 1, format, args);
	b->len += (size_t)n;
	return 0;
}

/* ---- the pool ------------------------------------------------------------------------------ */

void lines_free(struct lines_pool *p)
{
	free(p->text);
	free(p->ends);
	free(p->slots);
	free(p->name);
	*p = (struct lines_pool){0};
}

static struct lines_pool *lines_use(struct lines_pool *p)
{
	p->used = true;
	return p;
}

struct lines_pool *lines_pool_of(struct lines_pools *pools, const char *name, size_t most)
{
	struct lines_pool *more;

	for (size_t i = 0; i < pools->n; i++)
		if (strcmp(pools->list[i].name, name) == 0)
			return lines_use(&pools->list[i]);
	more = pools->n < most ? reallocarray(pools->list, pools->n + 1, sizeof(*more)) : NULL;
	if (!more)
		return NULL;
	pools->list = more;
	more += pools->n;
	*more = (struct lines_pool){.name = strdup(name)};
	if (!more->name)
		return NULL;
	pools->n++;
	return lines_use(more);
}

void lines_drop_unused(struct lines_pools *pools)
{
	size_t kept = 0;

	for (size_t i = 0; i < pools->n; i++) {
		if (!pools->list[i].used) {
			lines_free(&pools->list[i]);
			continue;
		}
		pools->list[i].used = false;
		pools->list[kept++] = pools->list[i];
	}
	pools->n = kept;
}

static size_t pool_memory(const struct lines_pool *p)
{
	return p->len + p->n * sizeof(*p->ends) + p->n_slots * sizeof(*p->slots);
}

size_t lines_memory(const struct lines_pools *pools)
{
	size_t all = 0;

	for (size_t i = 0; i < pools->n; i++)
		all += pool_memory(&pools->list[i]);
	return all;
}

void lines_free_all(struct lines_pools *pools)
{
	for (size_t i = 0; i < pools->n; i++)
		lines_free(&pools->list[i]);
	free(pools->list);
	*pools = (struct lines_pools){0};
}

static void lines_forget(struct lines_pool *p)
{
	p->len = 0;
	p->n = 0;
	if (p->slots)
		memset(p->slots, 0xff, p->n_slots * sizeof(*p->slots));
}

static const char *line_of(const struct lines_pool *p, uint32_t i, size_t *len)
{
	size_t from = i ? p->ends[i - 1] : 0;

	*len = p->ends[i] - from;
	return p->text + from;
}

static int lines_keep(struct lines_pool *p, const char *text, size_t len)
{
	struct buffer b = {p->text, p->len, p->room};
	int err = buffer_add(&b, text, len);

	p->text = b.data;
	p->room = b.room;
	if (err)
		return err;
	if (!grow(&p->ends, p->n, &p->n_room, sizeof(*p->ends)))
		return -ENOMEM;
	p->len = b.len;
	p->ends[p->n++] = (uint32_t)p->len;
	return 0;
}

/*
 * Returns the hash of a line. It takes eight bytes at a time, because a line of locking_state has
 * hundreds.
 */
static uint64_t lines_hash_of(const char *text, size_t len)
{
	uint64_t h = hash_number(len), v;

	for (; len >= sizeof(v); text += sizeof(v), len -= sizeof(v)) {
		memcpy(&v, text, sizeof(v));
		h = (h ^ v) * 0xff51afd7ed558ccdu;
		h ^= h >> 32;
	}
	v = 0;
	memcpy(&v, text, len);
	h = (h ^ v) * 0xc4ceb9fe1a85ec53u;
	return h ^ h >> 29;
}

static int grow_slots(struct lines_pool *p)
{
	uint32_t n = p->n_slots ? 2 * p->n_slots : 4 * POOL_LEAST;
	uint32_t *slots;
	size_t len;

	if (p->n + 1 < p->n_slots / 2)
		return 0;
	slots = malloc(n * sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	memset(slots, 0xff, n * sizeof(*slots));
	for (uint32_t i = 0; i < p->n; i++) {
		const char *text = line_of(p, i, &len);
		uint32_t at = (uint32_t)lines_hash_of(text, len) & (n - 1);

		while (slots[at] != NOT_FOUND)
			at = (at + 1) & (n - 1);
		slots[at] = i;
	}
	free(p->slots);
	p->slots = slots;
	p->n_slots = n;
	return 0;
}

/*
 * Returns the line's number in the pool, or NOT_FOUND. Sets the slot where the line is or would be.
 */
static uint32_t lines_find(const struct lines_pool *p, const char *text, size_t len, uint32_t *slot)
{
	uint32_t at = (uint32_t)lines_hash_of(text, len) & (p->n_slots - 1);
	size_t has;

	for (; p->slots[at] != NOT_FOUND; at = (at + 1) & (p->n_slots - 1)) {
		const char *line = line_of(p, p->slots[at], &has);

		if (has == len && memcmp(line, text, len) == 0)
			break;
	}
	*slot = at;
	return p->slots[at];
}

/* ---- the sender ---------------------------------------------------------------------------- */

static int lines_put(struct buffer *b, char what, uint64_t number)
{
	char text[12];
	size_t n = 0;

	text[n++] = what;
	for (; number > 127; number >>= 7)
		text[n++] = (char)(number | 128);
	text[n++] = (char)number;
	return buffer_add(b, text, n);
}

struct telling {
	struct lines_pool *p;
	struct buffer *out;
	uint32_t from, count; /* a run of known lines */
	const char *fresh;    /* new lines in a row */
	size_t fresh_len;
};

static int lines_flush(struct telling *t)
{
	int err = 0;

	if (t->count) {
		err = lines_put(t->out, RUN, t->from);
		err = err ? err : lines_put(t->out, RUN, t->count);
	} else if (t->fresh_len) {
		err = lines_put(t->out, NEW, t->fresh_len);
		err = err ? err : buffer_add(t->out, t->fresh, t->fresh_len);
	}
	t->count = 0;
	t->fresh_len = 0;
	return err;
}

static int tell_line(struct telling *t, const char *line, size_t len)
{
	struct lines_pool *p = t->p;
	uint32_t slot, i;
	int err = grow_slots(p);

	if (err)
		return err;
	/* The line that followed the last time is tried before the table. */
	i = t->count ? t->from + t->count : 0;
	if (t->count && i < p->n) {
		size_t has;
		const char *next = line_of(p, i, &has);

		if (has == len && memcmp(next, line, len) == 0) {
			t->count++;
			return 0;
		}
	}
	i = lines_find(p, line, len, &slot);
	if (i != NOT_FOUND) {
		err = lines_flush(t);
		t->from = i;
		t->count = 1;
		return err;
	}
	if (t->count)
		err = lines_flush(t);
	if (!t->fresh_len)
		t->fresh = line;
	t->fresh_len += len;
	err = err ? err : lines_keep(p, line, len);
	if (!err)
		p->slots[slot] = p->n - 1;
	return err;
}

int lines_encode(struct lines_pool *p, const char *text, size_t len, struct buffer *out)
{
	struct telling t = {.p = p, .out = out};
	const char *end = text + len;
	uint32_t n = 0;
	int err = 0;

	if (p->n > 2 * p->last + POOL_LEAST || p->len > POOL_MOST) {
		lines_forget(p);
		err = lines_put(out, FORGET, 0);
	}
	for (const char *line = text, *next; line < end && !err; line = next, n++) {
		const char *nl = memchr(line, '\n', (size_t)(end - line));

		next = nl ? nl + 1 : end;
		err = tell_line(&t, line, (size_t)(next - line));
	}
	p->last = n;
	return err ? err : lines_flush(&t);
}

/* ---- the receiver -------------------------------------------------------------------------- */

static int lines_get(const char **at, const char *end, uint64_t *number)
{
	unsigned shift = 0;

	*number = 0;
	while (*at < end && shift < 63) {
		unsigned char c = (unsigned char)*(*at)++;

		*number |= (uint64_t)(c & 127) << shift;
		if (!(c & 128))
			return 0;
		shift += 7;
	}
	return -EPROTO;
}

static int hear_run(const struct lines_pool *p, uint64_t from, uint64_t count, struct buffer *out,
		    size_t limit)
{
	size_t begin, len;

	if (from >= p->n || count > p->n - from || !count)
		return -EPROTO;
	begin = from ? p->ends[from - 1] : 0;
	len = p->ends[from + count - 1] - begin;
	return len > limit - out->len ? -EFBIG : buffer_add(out, p->text + begin, len);
}

static int hear_lines(struct lines_pool *p, const char *text, size_t len, struct buffer *out,
		      size_t limit)
{
	const char *end = text + len;
	size_t before = pool_memory(p), grown;
	int err = len > limit - out->len || len > (size_t)2 * POOL_MOST - p->len
		      ? -EFBIG
		      : buffer_add(out, text, len);

	/* A line costs an end as well, so many short lines take more memory than their bytes. */
	for (const char *line = text, *next; line < end && !err; line = next) {
		const char *nl = memchr(line, '\n', (size_t)(end - line));

		next = nl ? nl + 1 : end;
		err = lines_keep(p, line, (size_t)(next - line));
		grown = pool_memory(p) - before;
		if (!err && grown > limit - out->len)
			err = -EFBIG;
	}
	return err;
}

int lines_decode(struct lines_pool *p, const char *delta, size_t len, struct buffer *out,
		 size_t limit)
{
	const char *at = delta, *end = delta + len;
	uint64_t number, count;
	int err = 0;

	while (at < end && !err) {
		char what = *at++;

		err = lines_get(&at, end, &number);
		if (err)
			break;
		if (what == FORGET) {
			lines_forget(p);
		} else if (what == RUN) {
			if (at == end || *at++ != RUN)
				return -EPROTO;
			err = lines_get(&at, end, &count);
			err = err ? err : hear_run(p, number, count, out, limit);
		} else if (what == NEW && number <= (uint64_t)(end - at)) {
			err = hear_lines(p, at, number, out, limit);
			at += number;
		} else {
			err = -EPROTO;
		}
	}
	return err;
}
