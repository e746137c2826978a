/* SPDX-License-Identifier: MIT */
/*
 * parcel.c - the files of a node's sample, and the parser of the protocol that carries them.
 */
#include "parcel.h"

#include "base/clean.h"
#include "o2top/base/scan.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_FIRST = 16 * 1024, NAME_LONGEST = 255 };

/* ---- parcels ------------------------------------------------------------------------------- */

void parcel_free(struct parcel *p)
{
	for (size_t i = 0; p && i < p->n; i++) {
		free(p->files[i].space);
		free(p->files[i].data);
		free(p->files[i].why);
	}
	if (p)
		free(p->files);
	free(p);
}

const struct parcel_file *parcel_find(const struct parcel *p, int kind, const char *space)
{
	for (size_t i = 0; p && i < p->n; i++)
		if (p->files[i].kind == kind && (!space || strcmp(p->files[i].space, space) == 0))
			return &p->files[i];
	return NULL;
}

void parcel_append(struct parcel *to, const struct parcel *from, int kind)
{
	struct parcel_file *a = (struct parcel_file *)parcel_find(to, kind, NULL);
	const struct parcel_file *b = parcel_find(from, kind, NULL);
	char *more;

	if (a && b && b->len && a->len + b->len <= PARCEL_APPEND_MAX &&
	    (more = realloc(a->data, a->len + b->len))) {
		memcpy(more + a->len, b->data, b->len);
		a->data = more;
		a->len = a->room = a->len + b->len;
	}
}

static size_t parcel_memory(const struct parcel *p)
{
	size_t all = 0;

	for (size_t i = 0; p && i < p->n; i++)
		all += p->files[i].len;
	return all;
}

static struct parcel_file *parcel_add_file(struct parcel *p)
{
	/* The list grows in steps of 16, because a sample has a few files of each lock space. */
	if (p->n % 16 == 0) {
		struct parcel_file *more = reallocarray(p->files, p->n + 16, sizeof(*more));

		if (!more)
			return NULL;
		p->files = more;
	}
	p->files[p->n] = (struct parcel_file){.kind = -1};
	return &p->files[p->n++];
}

/* ---- the reader ---------------------------------------------------------------------------- */

void wire_init(struct wire *w, const char nonce[WIRE_NONCE])
{
	*w = (struct wire){.limit = WIRE_LIMIT};
	memcpy(w->nonce, nonce, WIRE_NONCE);
	w->done_end = &w->done;
}

/* Returns how many bytes more the node may make this machine keep. */
static size_t wire_left(const struct wire *w)
{
	size_t all = parcel_memory(w->now) + lines_memory(&w->pools) + w->delta_len;

	for (const struct parcel *p = w->done; p; p = p->next)
		all += parcel_memory(p);
	return all < w->limit ? w->limit - all : 0;
}

static void drop_parcel(struct wire *w)
{
	parcel_free(w->now);
	w->now = NULL;
	w->file = NULL;
	free(w->delta);
	w->delta = NULL;
	w->left = w->delta_len = 0;
}

void wire_free(struct wire *w)
{
	struct parcel *p;

	drop_parcel(w);
	while ((p = wire_next(w)))
		parcel_free(p);
	lines_free_all(&w->pools);
}

struct parcel *wire_next(struct wire *w)
{
	struct parcel *p = w->done;

	if (!p)
		return NULL;
	w->done = p->next;
	if (!w->done)
		w->done_end = &w->done;
	p->next = NULL;
	return p;
}

__attribute__((format(printf, 3, 4))) static int wrong(struct wire *w, int err, const char *format,
						       ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(w->error, sizeof(w->error), format, args);
	va_end(args);
	return err;
}

/* Reads "1795154849.664465970" or "832.84" as microseconds. Returns -1 if it is neither. */
static int64_t scan_seconds(struct scan *s)
{
	uint64_t sec, frac = 0, unit = 1000000;

	if (!scan_u64(s, &sec) || sec > INT64_MAX / 4000000)
		return -1;
	if (scan_char(s, '.'))
		for (int d; !scan_done(s) && (d = *s->p - '0') >= 0 && d <= 9; s->p++)
			frac += (uint64_t)d * (unit /= 10);
	/* A date(1) without nanoseconds may print other characters in their place. */
	while (!scan_done(s) && *s->p != ' ')
		s->p++;
	return (int64_t)(sec * 1000000 + frac);
}

static bool scan_stamp(const struct wire *w, struct scan *s, struct stamp *out)
{
	if (!scan_char(s, ' '))
		return false;
	out->real_us = scan_seconds(s);
	if (!scan_char(s, ' '))
		return false;
	out->mono_us = scan_seconds(s);
	if (out->mono_us >= 0)
		out->mono_us += w->mono_shift_us;
	return true;
}

/* Returns the rest of the line, without control characters. */
static char *rest_of(struct scan *s)
{
	char *text;

	scan_char(s, ' ');
	text = strndup(s->p, (size_t)(s->end - s->p));
	if (text)
		glock__clean(text, strlen(text));
	return text;
}

/*
 * Returns whether a name is one that the kernel makes. The name of a lock space becomes part of
 * paths and requests.
 */
static bool name_fits(const char *name)
{
	size_t n = strlen(name);

	if (n > NAME_LONGEST || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return false;
	for (; *name; name++)
		if ((unsigned char)*name <= ' ' || *name == 127 || *name == '/' || *name == '*' ||
		    *name == '?' || *name == '[')
			return false;
	return true;
}

static int begin_file(struct wire *w, struct scan *s)
{
	struct parcel *p = w->now;
	const char *word;
	size_t n;

	if (!p || p->n == PARCEL_FILES_MAX)
		return wrong(w, -EPROTO, "a file outside a sample, or too many files");
	w->file = parcel_add_file(p);
	if (!w->file)
		return -ENOMEM;
	scan_char(s, ' ');
	n = scan_word(s, &word);
	w->file->kind = kind_named(word, n);
	if (w->file->kind < 0 || !scan_stamp(w, s, &w->file->before))
		return wrong(w, -EPROTO, "a file of an unknown kind");
	w->scanned = 0;
	return 0;
}

static int name_file(struct wire *w, struct scan *s)
{
	w->file->space = rest_of(s);
	if (!w->file->space)
		return -ENOMEM;
	return name_fits(w->file->space) ? 0 : wrong(w, -EPROTO, "a wrong name of a lock space");
}

static int take_changes_head(struct wire *w, struct scan *s)
{
	uint64_t len, status;
	int err = begin_file(w, s);

	if (err)
		return err;
	if (!scan_stamp(w, s, &w->file->after) || !scan_char(s, ' ') || !scan_u64(s, &len) ||
	    !scan_char(s, ' ') || !scan_u64(s, &status) || len > wire_left(w))
		return wrong(w, -EPROTO, "a file of an impossible size");
	err = name_file(w, s);
	if (err)
		return err;
	w->file->status = status != 0;
	w->changes = true;
	w->left = len;
	w->delta = malloc(len + 1);
	w->delta_len = 0;
	return w->delta ? 0 : -ENOMEM;
}

static int begin_sample(struct wire *w, struct scan *s)
{
	const char *word;
	size_t n;

	if (w->now || w->state != WIRE_READY)
		return wrong(w, -EPROTO, "a sample inside another");
	w->now = calloc(1, sizeof(*w->now));
	if (!w->now)
		return -ENOMEM;
	scan_char(s, ' ');
	n = scan_word(s, &word);
	w->now->request = n == 1 ? *word : '?';
	if (!scan_stamp(w, s, &w->now->before) || !scan_char(s, ' '))
		return wrong(w, -EPROTO, "a sample without a time");
	n = scan_word(s, &word);
	snprintf(w->now->state, sizeof(w->now->state), "%.*s", n < 15 ? (int)n : 15, word);
	return 0;
}

static int end_sample(struct wire *w, struct scan *s)
{
	if (!w->now || !scan_stamp(w, s, &w->now->after))
		return wrong(w, -EPROTO, "the end of a sample that did not begin");
	if (w->now->request == 'S')
		lines_drop_unused(&w->pools);
	w->now->bytes = w->bytes;
	w->bytes = 0;
	*w->done_end = w->now;
	w->done_end = &w->now->next;
	w->now = NULL;
	return 0;
}

static void take_clocks(struct wire *w, struct scan *s)
{
	int64_t up;
	uint64_t ns;

	scan_char(s, ' ');
	up = scan_seconds(s);
	if (up >= 0 && scan_char(s, ' ') && scan_u64(s, &ns) && ns / 1000 < INT64_MAX / 2)
		w->mono_shift_us = (int64_t)(ns / 1000) - up;
}

/* Takes a line of the protocol, without the connection's number. */
static int parcel_take_command(struct wire *w, const char *line, size_t len)
{
	struct scan s = scan_line(line, len);
	const char *word;
	size_t n;
	int err;

	scan_char(&s, ' ');
	n = scan_word(&s, &word);
	if (w->state == WIRE_GREETING) {
		if (n == 5 && memcmp(word, "agent", 5) == 0) {
			w->state = WIRE_AGENT;
			w->agent = true;
		} else if (n == 5 && memcmp(word, "plain", 5) == 0) {
			w->state = WIRE_PLAIN;
		} else {
			return wrong(w, -EPROTO, "a wrong greeting");
		}
		return 0;
	}
	if (n != 1)
		return wrong(w, -EPROTO, "a line of an unknown kind");
	switch (*word) {
	case 'C':
		take_clocks(w, &s);
		return 0;
	case 'R':
		w->state = WIRE_READY;
		return 0;
	case 'S':
		return begin_sample(w, &s);
	case 'Z':
		return end_sample(w, &s);
	case 'F':
		err = begin_file(w, &s);
		return err ? err : name_file(w, &s);
	case 'L':
		return take_changes_head(w, &s);
	default:
		return wrong(w, -EPROTO, "a line of an unknown kind");
	}
}

/* Takes whole lines outside of files. Returns how many bytes were taken, or a negative errno. */
static ssize_t parcel_take_line(struct wire *w, const char *bytes, size_t n)
{
	const char *nl = memchr(bytes, '\n', n);
	size_t len = nl ? (size_t)(nl - bytes) : n, prefix = strlen(w->nonce);
	int err = 0;

	if (w->line_len + len > sizeof(w->line))
		return wrong(w, -EPROTO, "a line without end");
	memcpy(w->line + w->line_len, bytes, len);
	w->line_len += len;
	if (!nl)
		return (ssize_t)n;
	if (w->line_len > prefix && memcmp(w->line, w->nonce, prefix) == 0)
		err = parcel_take_command(w, w->line + prefix, w->line_len - prefix);
	else if (w->state == WIRE_READY)
		err = wrong(w, -EPROTO, "a line outside a sample");
	/* Other lines come from the login on the node, before the protocol begins. */
	w->line_len = 0;
	return err ? err : (ssize_t)len + 1;
}

static int parcel_grow(struct wire *w, size_t by)
{
	struct parcel_file *f = w->file;
	size_t room = f->room ? f->room : FILE_FIRST;
	char *more;

	if (by > wire_left(w))
		return wrong(w, -EFBIG,
			     "a sample of more than %zu MiB, with the lines kept for the next one",
			     w->limit >> 20);
	if (f->room - f->len > by)
		return 0;
	while (room - f->len <= by)
		room *= 2;
	more = realloc(f->data, room);
	if (!more)
		return -ENOMEM;
	f->data = more;
	f->room = room;
	return 0;
}

/* Takes the line that ends a file: "N E STATUS REAL UP WHY". */
static int parcel_end_file(struct wire *w, const char *line, size_t len)
{
	struct scan s = scan_line(line, len);
	uint64_t status;

	scan_char(&s, ' ');
	if (!scan_u64(&s, &status) || !scan_stamp(w, &s, &w->file->after))
		return wrong(w, -EPROTO, "the end of a file without a time");
	w->file->status = status != 0;
	w->file->why = rest_of(&s);
	w->file = NULL;
	return 0;
}

/* Takes bytes of a file that comes as it is, and looks for its end. */
static ssize_t parcel_take_file(struct wire *w, const char *bytes, size_t n)
{
	struct parcel_file *f = w->file;
	char mark[WIRE_NONCE + 8];
	int mark_len = snprintf(mark, sizeof(mark), "\n%s E", w->nonce), err = parcel_grow(w, n);
	char *end, *nl;
	size_t before = f->len, from;

	if (err)
		return err;
	memcpy(f->data + f->len, bytes, n);
	f->len += n;
	end = memmem(f->data + w->scanned, f->len - w->scanned, mark, (size_t)mark_len);
	if (!end) {
		w->scanned = f->len > (size_t)mark_len ? f->len - (size_t)mark_len : 0;
		return (ssize_t)n;
	}
	from = (size_t)(end - f->data) + (size_t)mark_len;
	nl = memchr(f->data + from, '\n', f->len - from);
	w->scanned = (size_t)(end - f->data);
	if (!nl)
		return f->len - from > WIRE_LINE ? wrong(w, -EPROTO, "a line without end")
						 : (ssize_t)n;
	n = (size_t)(nl + 1 - f->data) - before;
	err = parcel_end_file(w, f->data + from, (size_t)(nl - f->data) - from);
	f->len = (size_t)(end - f->data);
	return err ? err : (ssize_t)n;
}

static struct lines_pool *parcel_pool_of(struct wire *w, const struct parcel_file *f)
{
	char name[NAME_LONGEST + 32];

	snprintf(name, sizeof(name), "%d %s", f->kind, f->space);
	return lines_pool_of(&w->pools, name, PARCEL_FILES_MAX);
}

/* Takes bytes of a file that is told by its changes. */
static ssize_t take_changes(struct wire *w, const char *bytes, size_t n)
{
	struct buffer text = {0};
	struct lines_pool *pool;
	int err;

	if (n > w->left)
		n = w->left;
	memcpy(w->delta + w->delta_len, bytes, n);
	w->delta_len += n;
	w->left -= n;
	if (w->left)
		return (ssize_t)n;
	pool = parcel_pool_of(w, w->file);
	err = pool ? lines_decode(pool, w->delta, w->delta_len, &text, wire_left(w)) : -ENOMEM;
	w->file->data = text.data;
	w->file->len = text.len;
	w->file->room = text.room;
	free(w->delta);
	w->delta = NULL;
	w->delta_len = 0;
	w->changes = false;
	w->file = NULL;
	if (err == -EPROTO)
		return wrong(w, err, "changes to a file that was not sent before");
	if (err == -EFBIG)
		return wrong(w, err,
			     "a sample of more than %zu MiB, with the lines kept for the next one",
			     w->limit >> 20);
	return err ? err : (ssize_t)n;
}

int wire_take(struct wire *w, const char *bytes, size_t n)
{
	w->bytes += n;
	while (n || (w->file && w->changes && !w->left)) {
		ssize_t took = !w->file     ? parcel_take_line(w, bytes, n)
			       : w->changes ? take_changes(w, bytes, n)
					    : parcel_take_file(w, bytes, n);

		if (took < 0) {
			if (!*w->error)
				wrong(w, (int)took, "%s", strerror((int)-took));
			return (int)took;
		}
		assert((size_t)took <= n);
		bytes += took;
		n -= (size_t)took;
	}
	return 0;
}
