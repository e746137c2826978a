/* SPDX-License-Identifier: MIT */
/*
 * paths_kept.c - joins the answers of nodes that were asked for paths.
 */
#include "paths_kept.h"

#include "o2top/base/grow.h"

#include <stdlib.h>
#include <string.h>

/* A node that is asked for ever more paths keeps only the last ones. */
enum { KEPT_MOST = 1 << 20 };

/* Returns the length of "SPACE INODE " at the beginning of a line, 0 if the line is no answer. */
static size_t key_of(const char *line, size_t len)
{
	const char *first = memchr(line, ' ', len), *second;

	if (!first || (first - line == 4 && memcmp(line, "walk", 4) == 0) ||
	    (first - line == 6 && memcmp(line, "walked", 6) == 0))
		return 0;
	second = memchr(first + 1, ' ', len - (size_t)(first + 1 - line));
	return second ? (size_t)(second + 1 - line) : 0;
}

/* Removes the lines with a key from the first n bytes of b. Returns what is left of n. */
static size_t remove_key(struct buffer *b, size_t n, const char *key, size_t len)
{
	size_t at = 0;

	while (at < n) {
		const char *nl = memchr(b->data + at, '\n', n - at);
		size_t line = nl ? (size_t)(nl - b->data) + 1 - at : n - at;

		if (line >= len && memcmp(b->data + at, key, len) == 0) {
			memmove(b->data + at, b->data + at + line, b->len - at - line);
			b->len -= line;
			n -= line;
		} else {
			at += line;
		}
	}
	return n;
}

static struct buffer *text_of(struct paths_kept *k, const char *node)
{
	for (size_t i = 0; i < k->n; i++)
		if (strcmp(k->list[i].node, node) == 0)
			return &k->list[i].text;
	if (!grow(&k->list, k->n, &k->room, sizeof(*k->list)))
		return NULL;
	k->list[k->n].text = (struct buffer){0};
	k->list[k->n].node = strdup(node);
	return k->list[k->n].node ? &k->list[k->n++].text : NULL;
}

const struct buffer *paths_kept_add(struct paths_kept *k, const char *node, const char *text,
				    size_t len)
{
	struct buffer *kept = text_of(k, node);
	const char *end = text + len, *next;
	size_t old = kept ? kept->len : 0;

	for (const char *line = text; kept && line < end; line = next) {
		const char *nl = memchr(line, '\n', (size_t)(end - line));
		size_t key = nl ? key_of(line, (size_t)(nl - line)) : 0;

		next = nl ? nl + 1 : end;
		if (!key)
			continue;
		old = remove_key(kept, old, line, key);
		if (buffer_add(kept, line, (size_t)(next - line)))
			return NULL;
	}
	while (kept && kept->len > KEPT_MOST) {
		const char *nl = memchr(kept->data, '\n', kept->len);
		size_t cut = nl ? (size_t)(nl - kept->data) + 1 : kept->len;

		memmove(kept->data, kept->data + cut, kept->len - cut);
		kept->len -= cut;
	}
	return kept && kept->len ? kept : NULL;
}

void paths_kept_free(struct paths_kept *k)
{
	for (size_t i = 0; i < k->n; i++) {
		free(k->list[i].node);
		free(k->list[i].text.data);
	}
	free(k->list);
	*k = (struct paths_kept){0};
}
