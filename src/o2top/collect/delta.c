/* SPDX-License-Identifier: MIT */
/*
 * Which units of the new text are those of the old one: the longest run of them that are in the same
 * order on both sides, found by name. What was moved past others counts as new, which costs its text,
 * no more.
 */
#include "delta.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct unit {
	char *text;
	uint32_t len;
	uint32_t hash; /* of its name */
};

enum run { RUN_SAME, RUN_GONE, RUN_EDIT, RUN_NEW, RUN_END, RUNS };

/* A unit longer than this is two. */
enum { UNIT_LONGEST = 1 << 20 };

/* Nobody's file is larger; a damaged recording must not take all memory. */
#define TEXT_LARGEST ((size_t)1 << 32)

void known_free(struct known *k)
{
	for (size_t i = 0; i < k->n; i++)
		free(k->units[i].text);
	free(k->units);
	*k = (struct known){0};
}

/* ---- units --------------------------------------------------------------------------------- */

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/* How long the unit at the beginning of a text is: 0 at its end. */
static size_t unit_length(const char *text, size_t len)
{
	size_t n = 0;

	if (len > UNIT_LONGEST)
		len = UNIT_LONGEST;
	while (n < len) {
		const char *newline = memchr(text + n, '\n', len - n);

		n = newline ? (size_t)(newline - text) + 1 : len;
		if (n < len && !is_blank(text[n]))
			break;
	}
	return n;
}

/* A glock's line begins with its state; its name is the third word. Of others the first two name it. */
static uint32_t unit_hash(const char *text, size_t len)
{
	static const char glock[] = "G:  s:", name[] = " n:";
	const char *from = text, *end = text + len, *p;
	uint32_t hash = 2166136261u;

	if (len > sizeof(glock) && memcmp(text, glock, sizeof(glock) - 1) == 0 &&
	    (p = memmem(text, len, name, sizeof(name) - 1))) {
		from = p + 1;
		for (p = from; p < end && !is_blank(*p) && *p != '\n'; p++)
			;
		end = p;
	} else {
		for (p = text; p < end && !is_blank(*p) && *p != '\n'; p++)
			;
		for (; p < end && is_blank(*p); p++)
			;
		for (; p < end && !is_blank(*p) && *p != '\n'; p++)
			;
		end = p;
	}
	for (p = from; p < end; p++)
		hash = (hash ^ (unsigned char)*p) * 16777619u;
	return hash;
}

static int set_text(struct unit *u, const char *text, size_t len)
{
	char *copy = realloc(u->text, len ? len : 1);

	if (!copy)
		return -ENOMEM;
	if (len)
		memcpy(copy, text, len);
	u->text = copy;
	u->len = (uint32_t)len;
	return 0;
}

static struct unit *add_unit(struct known *k)
{
	if (k->n == k->room) {
		size_t room = k->room ? 2 * k->room : 64;
		struct unit *more = reallocarray(k->units, room, sizeof(*more));

		if (!more)
			return NULL;
		k->units = more;
		k->room = room;
	}
	k->units[k->n] = (struct unit){0};
	return &k->units[k->n++];
}

/* ---- words --------------------------------------------------------------------------------- */

static bool is_separator(char c)
{
	return is_blank(c) || c == '\n' || c == ':' || c == '/' || c == ',';
}

struct words {
	const char *at, *end;
	bool done;
};

/* The next word and, behind it, one separator or the end. */
static bool next_word(struct words *w, const char **word, size_t *len, char *separator)
{
	if (w->done)
		return false;
	*word = w->at;
	while (w->at < w->end && !is_separator(*w->at))
		w->at++;
	*len = (size_t)(w->at - *word);
	w->done = w->at == w->end;
	*separator = w->done ? '\0' : *w->at++;
	return true;
}

/* A word that is a number as it would be printed again. */
static bool as_number(const char *word, size_t len, uint64_t *v)
{
	if (len == 0 || len > 18 || (len > 1 && *word == '0'))
		return false;
	for (*v = 0; len--; word++) {
		if (*word < '0' || *word > '9')
			return false;
		*v = *v * 10 + (uint64_t)(*word - '0');
	}
	return true;
}

static bool same_shape(const char *a, size_t n, const char *b, size_t m)
{
	struct words x = {a, a + n, false}, y = {b, b + m, false};
	const char *word;
	char c, d;
	size_t len;

	for (;;) {
		bool more = next_word(&x, &word, &len, &c);

		if (next_word(&y, &word, &len, &d) != more)
			return false;
		if (!more)
			return true;
		if (c != d)
			return false;
	}
}

static void write_words(const struct unit *old, const char *text, size_t len, struct delta *out)
{
	struct words x = {old->text, old->text + old->len, false}, y = {text, text + len, false};
	const char *a, *b;
	size_t n, m, gap = 0;
	uint64_t u, v;
	char c;

	while (next_word(&x, &a, &n, &c) && next_word(&y, &b, &m, &c)) {
		if (n == m && memcmp(a, b, n) == 0) {
			gap++;
			continue;
		}
		if (as_number(a, n, &u) && as_number(b, m, &v)) {
			pack_number(&out->gaps, 2 * gap + 2);
			pack_signed(&out->numbers, (int64_t)(v - u));
		} else {
			pack_number(&out->gaps, 2 * gap + 3);
			pack_number(&out->numbers, m);
			pack_bytes(&out->text, b, m);
		}
		gap = 0;
	}
	pack_number(&out->gaps, 0);
}

/* ---- writing ------------------------------------------------------------------------------- */

/* A unit of the new text, and which of the old ones it is. */
struct fresh {
	const char *text;
	uint32_t len, hash;
	size_t old; /* SIZE_MAX none */
};

struct fresh_list {
	struct fresh *list;
	size_t n;
};

static int split(const char *text, size_t len, struct fresh_list *out)
{
	size_t room = 0, n;

	*out = (struct fresh_list){0};
	for (; (n = unit_length(text, len)); text += n, len -= n) {
		if (out->n == room) {
			struct fresh *more;

			room = room ? 2 * room : 256;
			more = reallocarray(out->list, room, sizeof(*more));
			if (!more) {
				free(out->list);
				return -ENOMEM;
			}
			out->list = more;
		}
		out->list[out->n++] =
		    (struct fresh){text, (uint32_t)n, unit_hash(text, n), SIZE_MAX};
	}
	return 0;
}

/* Gives each fresh unit the first old one of its name that no other has. */
static int find_old(const struct known *k, struct fresh_list *f)
{
	size_t slots = 64, *first, *next;
	size_t *buffer;

	while (slots < 2 * k->n)
		slots *= 2;
	buffer = malloc((slots + k->n + 1) * sizeof(*buffer));
	if (!buffer)
		return -ENOMEM;
	first = buffer;
	next = buffer + slots;
	memset(first, 0xff, slots * sizeof(*first));
	for (size_t i = k->n; i--;) {
		size_t slot = k->units[i].hash & (slots - 1);

		next[i] = first[slot];
		first[slot] = i;
	}
	for (size_t i = 0; i < f->n; i++) {
		size_t *link = &first[f->list[i].hash & (slots - 1)];

		while (*link != SIZE_MAX && k->units[*link].hash != f->list[i].hash)
			link = &next[*link];
		if (*link == SIZE_MAX)
			continue;
		f->list[i].old = *link;
		*link = next[*link];
	}
	free(buffer);
	return 0;
}

/* Leaves only those that are in the same order on both sides, as many as can be. */
static int keep_order(struct fresh_list *f)
{
	size_t *tails = malloc((f->n + 1) * sizeof(*tails)), n = 0, at;
	size_t *before = malloc((f->n + 1) * sizeof(*before));

	if (!tails || !before) {
		free(tails);
		free(before);
		return -ENOMEM;
	}
	for (size_t i = 0; i < f->n; i++) {
		size_t low = 0, high = n;

		if (f->list[i].old == SIZE_MAX)
			continue;
		while (low < high) {
			size_t mid = low + (high - low) / 2;

			if (f->list[tails[mid]].old < f->list[i].old)
				low = mid + 1;
			else
				high = mid;
		}
		before[i] = low ? tails[low - 1] : SIZE_MAX;
		tails[low] = i;
		n += low == n;
	}
	at = n ? tails[n - 1] : SIZE_MAX;
	for (size_t i = f->n; i--;) {
		if (i == at)
			at = before[i];
		else
			f->list[i].old = SIZE_MAX;
	}
	free(tails);
	free(before);
	return 0;
}

/* Runs are counted and written when another kind begins. */
struct runs {
	struct delta *out;
	enum run kind;
	uint64_t n;
};

static void add_run(struct runs *r, enum run kind, uint64_t n)
{
	if (kind != r->kind) {
		if (r->n)
			pack_number(&r->out->runs, r->n * RUNS + r->kind);
		r->kind = kind;
		r->n = 0;
	}
	r->n += n;
}

static int write_unit(struct known *to, const struct fresh *f, struct unit *old, struct runs *runs)
{
	struct unit *u = add_unit(to);

	if (!u)
		return -ENOMEM;
	u->hash = f->hash;
	if (!old) {
		add_run(runs, RUN_NEW, 1);
		pack_number(&runs->out->numbers, f->len);
		pack_bytes(&runs->out->text, f->text, f->len);
		return set_text(u, f->text, f->len);
	}
	u->text = old->text;
	u->len = old->len;
	old->text = NULL;
	if (u->len == f->len && memcmp(u->text, f->text, f->len) == 0) {
		add_run(runs, RUN_SAME, 1);
		return 0;
	}
	add_run(runs, RUN_EDIT, 1);
	if (same_shape(u->text, u->len, f->text, f->len)) {
		write_words(u, f->text, f->len, runs->out);
	} else {
		pack_number(&runs->out->gaps, 1);
		pack_number(&runs->out->numbers, f->len);
		pack_bytes(&runs->out->text, f->text, f->len);
	}
	return set_text(u, f->text, f->len);
}

/* Old units up to `until` are absent. */
static int pass_absent(struct known *to, struct known *from, size_t *at, size_t until,
		       struct runs *runs)
{
	for (; *at < until; ++*at) {
		struct unit *u = add_unit(to);

		if (!u)
			return -ENOMEM;
		*u = from->units[*at];
		from->units[*at].text = NULL;
		to->absent++;
		if (runs)
			add_run(runs, RUN_GONE, 1);
	}
	return 0;
}

int delta_write(struct known *k, const char *text, size_t len, struct delta *out)
{
	struct runs runs = {.out = out, .kind = RUN_END};
	struct known now = {0};
	struct fresh_list f;
	size_t at = 0;
	int err = split(text, len, &f);

	if (err)
		return err;
	err = find_old(k, &f);
	err = err ? err : keep_order(&f);
	for (size_t i = 0; i < f.n && !err; i++) {
		struct unit *old = NULL;

		if (f.list[i].old != SIZE_MAX) {
			err = pass_absent(&now, k, &at, f.list[i].old, &runs);
			old = &k->units[at++];
		}
		err = err ? err : write_unit(&now, &f.list[i], old, &runs);
	}
	err = err ? err : pass_absent(&now, k, &at, k->n, &runs);
	add_run(&runs, RUN_END, 1);
	add_run(&runs, RUN_SAME, 0);
	free(f.list);
	known_free(k);
	*k = now;
	if (err || out->runs.failed || out->gaps.failed || out->numbers.failed || out->text.failed)
		return -ENOMEM;
	return 0;
}

/* ---- reading ------------------------------------------------------------------------------- */

static int read_literal(struct undelta *in, struct unit *u)
{
	uint64_t n = unpack_number(&in->numbers);
	const char *bytes;

	if (n > 2 * UNIT_LONGEST)
		return -EBADMSG;
	bytes = unpack_bytes(&in->text, (size_t)n);
	if (!bytes || in->numbers.bad)
		return -EBADMSG;
	u->hash = unit_hash(bytes, (size_t)n);
	return set_text(u, bytes, (size_t)n);
}

/* One word that differs. */
static int read_word(struct undelta *in, bool literal, const char *old, size_t len,
		     struct pack *out)
{
	char digits[24];
	uint64_t v;
	size_t at = sizeof(digits);

	if (literal) {
		uint64_t n = unpack_number(&in->numbers);
		const void *bytes = n > UNIT_LONGEST ? NULL : unpack_bytes(&in->text, (size_t)n);

		if (!bytes)
			return -EBADMSG;
		pack_bytes(out, bytes, (size_t)n);
		return 0;
	}
	if (!as_number(old, len, &v))
		return -EBADMSG;
	v += (uint64_t)unpack_signed(&in->numbers);
	do
		digits[--at] = (char)('0' + v % 10);
	while (v /= 10);
	pack_bytes(out, digits + at, sizeof(digits) - at);
	return 0;
}

/* The old unit with some words changed. */
static int read_words(struct undelta *in, uint64_t first, struct unit *u)
{
	struct words w = {u->text, u->text + u->len, false};
	struct pack out = {0};
	const char *word;
	uint64_t gap = first;
	size_t len;
	char separator;
	int err = 0;

	while (!err && next_word(&w, &word, &len, &separator)) {
		if (gap >= 2 && gap < 4) {
			err = read_word(in, gap & 1, word, len, &out);
			gap = unpack_number(&in->gaps);
			if (gap == 1 || in->gaps.bad || in->numbers.bad)
				err = -EBADMSG;
		} else {
			gap -= gap ? 2 : 0;
			pack_bytes(&out, word, len);
		}
		if (!w.done)
			pack_bytes(&out, &separator, 1);
	}
	if (!err && out.failed)
		err = -ENOMEM;
	if (!err && (gap || out.n > UNIT_LONGEST))
		err = -EBADMSG;
	err = err ? err : set_text(u, (const char *)out.data, out.n);
	pack_free(&out);
	return err;
}

static int read_edit(struct undelta *in, struct unit *u)
{
	uint64_t first = unpack_number(&in->gaps);

	if (in->gaps.bad)
		return -EBADMSG;
	return first == 1 ? read_literal(in, u) : read_words(in, first, u);
}

static int read_run(struct known *to, struct known *from, size_t *at, enum run kind, uint64_t n,
		    struct undelta *in)
{
	int err = 0;

	if (kind == RUN_NEW ? n > (size_t)(in->numbers.end - in->numbers.at) : n > from->n - *at)
		return -EBADMSG;
	if (kind == RUN_GONE)
		return pass_absent(to, from, at, *at + (size_t)n, NULL);
	for (; n-- && !err;) {
		struct unit *u = add_unit(to);

		if (!u)
			return -ENOMEM;
		if (kind == RUN_NEW) {
			err = read_literal(in, u);
			continue;
		}
		*u = from->units[*at];
		from->units[(*at)++].text = NULL;
		if (kind == RUN_EDIT)
			err = read_edit(in, u);
	}
	return err;
}

/* The units of `to` that are there: `marks` says of which runs. */
static int put_together(const struct known *k, const unsigned char *there, char **text, size_t *len)
{
	size_t total = 0;
	char *at;

	for (size_t i = 0; i < k->n; i++)
		total += there[i] ? k->units[i].len : 0;
	if (total > TEXT_LARGEST)
		return -EBADMSG;
	*text = at = malloc(total + 1);
	if (!at)
		return -ENOMEM;
	for (size_t i = 0; i < k->n; i++)
		if (there[i]) {
			memcpy(at, k->units[i].text, k->units[i].len);
			at += k->units[i].len;
		}
	*at = '\0';
	*len = total;
	return 0;
}

int delta_read(struct known *k, struct undelta *in, char **text, size_t *len)
{
	struct known now = {0};
	struct pack there = {0};
	size_t at = 0;
	int err = 0;

	for (;;) {
		uint64_t run = unpack_number(&in->runs);
		enum run kind = (enum run)(run % RUNS);
		size_t before = now.n;
		unsigned char mark;

		if (in->runs.bad) {
			err = -EBADMSG;
			break;
		}
		if (kind == RUN_END)
			break;
		err = read_run(&now, k, &at, kind, run / RUNS, in);
		mark = kind != RUN_GONE;
		for (; before < now.n && text && !err; before++)
			pack_bytes(&there, &mark, 1);
		if (err)
			break;
	}
	if (!err && at != k->n)
		err = -EBADMSG;
	if (!err && there.failed)
		err = -ENOMEM;
	if (!err && text)
		err = put_together(&now, there.data, text, len);
	pack_free(&there);
	known_free(k);
	if (err)
		known_free(&now);
	*k = now;
	return err;
}
