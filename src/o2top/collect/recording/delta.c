/* SPDX-License-Identifier: MIT */
/*
 * delta.c - writes the delta between a file's known text and its new text.
 *
 * The writer finds units of the new text in the old one by name. It takes the longest run of units
 * in the same order on both sides. A unit that moved past others counts as new, and costs its text,
 * no more.
 */
#include "delta.h"

#include "o2top/base/grow.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- words --------------------------------------------------------------------------------- */

static bool same_shape(const char *a, size_t n, const char *b, size_t m)
{
	struct word_walk x = {a, a + n, false}, y = {b, b + m, false};
	const char *word;
	char c, d;
	size_t len;

	for (;;) {
		bool more = words_next(&x, &word, &len, &c);

		if (words_next(&y, &word, &len, &d) != more)
			return false;
		if (!more)
			return true;
		if (c != d)
			return false;
	}
}

static void write_words(const struct unit *old, const char *text, size_t len, struct delta *out)
{
	struct word_walk x = {old->text, old->text + old->len, false},
			 y = {text, text + len, false};
	const char *a, *b;
	size_t n, m, gap = 0;
	uint64_t u, v;
	char c;

	while (words_next(&x, &a, &n, &c) && words_next(&y, &b, &m, &c)) {
		if (n == m && memcmp(a, b, n) == 0) {
			gap++;
			continue;
		}
		if (word_number(a, n, &u) && word_number(b, m, &v)) {
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

/* A unit of the new text, and the old unit that it continues. */
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
		if (!grow(&out->list, out->n, &room, sizeof(*out->list))) {
			free(out->list);
			return -ENOMEM;
		}
		out->list[out->n++] =
		    (struct fresh){text, (uint32_t)n, unit_hash(text, n), SIZE_MAX};
	}
	return 0;
}

/* Gives each fresh unit the first old unit of its name that no other fresh unit has. */
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

/* Keeps only old units that are in the same order on both sides, as many as possible. */
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

/* A run is counted, and is written when a run of another kind begins. */
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
	struct unit *u = known_add(to);

	if (!u)
		return -ENOMEM;
	u->hash = f->hash;
	if (!old) {
		add_run(runs, RUN_NEW, 1);
		pack_number(&runs->out->numbers, f->len);
		pack_bytes(&runs->out->text, f->text, f->len);
		return unit_set_text(u, f->text, f->len);
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
	return unit_set_text(u, f->text, f->len);
}

/* Writes that the old units up to `until` are absent. */
static int write_absent(struct known *to, struct known *from, size_t *at, size_t until,
			struct runs *runs)
{
	if (until > *at)
		add_run(runs, RUN_GONE, until - *at);
	return known_pass(to, from, at, until);
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
			err = write_absent(&now, k, &at, f.list[i].old, &runs);
			old = &k->units[at++];
		}
		err = err ? err : write_unit(&now, &f.list[i], old, &runs);
	}
	err = err ? err : write_absent(&now, k, &at, k->n, &runs);
	add_run(&runs, RUN_END, 1);
	add_run(&runs, RUN_SAME, 0);
	free(f.list);
	known_free(k);
	*k = now;
	if (err || out->runs.failed || out->gaps.failed || out->numbers.failed || out->text.failed)
		return -ENOMEM;
	return 0;
}
