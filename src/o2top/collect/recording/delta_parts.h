/* SPDX-License-Identifier: MIT */
/*
 * delta_parts.h - units and words: the common base of writing and reading a delta.
 */
#ifndef O2TOP_DELTA_PARTS_H
#define O2TOP_DELTA_PARTS_H

#include "delta.h"

#include <stdbool.h>

struct unit {
	char *text;
	uint32_t len;
	uint32_t hash; /* of its name */
};

enum run { RUN_SAME, RUN_GONE, RUN_EDIT, RUN_NEW, RUN_END, RUNS };

/* A unit that is longer than this becomes two. */
enum { UNIT_LONGEST = 1 << 20 };

/* Returns the length of the unit at the beginning of a text; 0 at the text's end. */
size_t unit_length(const char *text, size_t len);
/* Returns the hash of a unit's name. */
uint32_t unit_hash(const char *text, size_t len);
int unit_set_text(struct unit *u, const char *text, size_t len);
/* Adds an empty unit. NULL: no memory. */
struct unit *known_add(struct known *k);
/* Moves the units up to `until` over as absent ones. Returns 0 or -ENOMEM. */
int known_pass(struct known *to, struct known *from, size_t *at, size_t until);

struct words {
	const char *at, *end;
	bool done;
};

/* Finds the next word and, behind it, one separator or the end. */
bool words_next(struct words *w, const char **word, size_t *len, char *separator);
/* Returns whether a word is a number that would be printed again in the same way. */
bool word_number(const char *word, size_t len, uint64_t *v);

#endif
