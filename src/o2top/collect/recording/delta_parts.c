/* SPDX-License-Identifier: MIT */
/*
 * delta_parts.c - units and words, as the writer and the reader of a delta use them.
 */
#include "delta.h"

#include "o2top/base/grow.h"
#include "o2top/base/hash.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

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

size_t unit_length(const char *text, size_t len)
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

/*
 * Returns the hash of a unit's name. A glock's line begins with its state, so its name is the third
 * word. The first two words name any other unit.
 */
uint32_t unit_hash(const char *text, size_t len)
{
	static const char glock[] = "G:  s:", name[] = " n:";
	const char *from = text, *end = text + len, *p;
	uint32_t hash = (uint32_t)hash_number(0);

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

int unit_set_text(struct unit *u, const char *text, size_t len)
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

struct unit *known_add(struct known *k)
{
	if (!grow(&k->units, k->n, &k->room, sizeof(*k->units)))
		return NULL;
	k->units[k->n] = (struct unit){0};
	return &k->units[k->n++];
}

int known_pass(struct known *to, struct known *from, size_t *at, size_t until)
{
	for (; *at < until; ++*at) {
		struct unit *u = known_add(to);

		if (!u)
			return -ENOMEM;
		*u = from->units[*at];
		from->units[*at].text = NULL;
		to->absent++;
	}
	return 0;
}

/* ---- words --------------------------------------------------------------------------------- */

static bool is_separator(char c)
{
	return is_blank(c) || c == '\n' || c == ':' || c == '/' || c == ',';
}

bool words_next(struct word_walk *w, const char **word, size_t *len, char *separator)
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

bool word_number(const char *word, size_t len, uint64_t *v)
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
