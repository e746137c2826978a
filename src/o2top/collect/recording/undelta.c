/* SPDX-License-Identifier: MIT */
/*
 * undelta.c - reads the deltas that delta.c writes.
 *
 * A recording may be damaged or made to do harm. The reader believes no length that exceeds the
 * rest of the recording.
 */
#include "delta.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* No real file is larger. A damaged recording must not take all memory. */
#define TEXT_LARGEST ((size_t)1 << 32)

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
	return unit_set_text(u, bytes, (size_t)n);
}

/* Reads one word that differs. */
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
	if (!word_number(old, len, &v))
		return -EBADMSG;
	v += (uint64_t)unpack_signed(&in->numbers);
	do
		digits[--at] = (char)('0' + v % 10);
	while (v /= 10);
	pack_bytes(out, digits + at, sizeof(digits) - at);
	return 0;
}

/* Reads an old unit with some words changed. */
static int read_words(struct undelta *in, uint64_t first, struct unit *u)
{
	struct word_walk w = {u->text, u->text + u->len, false};
	struct pack out = {0};
	const char *word;
	uint64_t gap = first;
	size_t len;
	char separator;
	int err = 0;

	while (!err && words_next(&w, &word, &len, &separator)) {
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
	err = err ? err : unit_set_text(u, (const char *)out.data, out.n);
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
		return known_pass(to, from, at, *at + (size_t)n);
	for (; n-- && !err;) {
		struct unit *u = known_add(to);

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

/* Joins the units that are in the text. `there` marks them. */
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
