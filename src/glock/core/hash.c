/* SPDX-License-Identifier: MIT */
/* hash.c - see hash.h. */
#include "hash.h"

#include <stdlib.h>
#include <string.h>

/* A line is full at so many glocks on average. FIRST lines are made first. */
enum { FULL = 16, FIRST = GLOCK__PARTS, LINES_MAX = 1 << 25 };

static_assert(sizeof(struct glock__hash_line) == 64, "a line of the table is a cache line");

/* ---- the locks of the parts ---- */

struct glock__part *glock__lock_part(struct glock_space *space, unsigned int type, uint64_t number)
{
	struct glock__part *part = &space->parts[glock__hash_of(type, number) % GLOCK__PARTS];

	glock__lock_take(&part->lock);
	return part;
}

void glock__lock_parts(struct glock_space *space)
{
	for (unsigned int i = 0; i < GLOCK__PARTS; i++)
		glock__lock_take(&space->parts[i].lock);
}

void glock__unlock_parts(struct glock_space *space)
{
	for (unsigned int i = 0; i < GLOCK__PARTS; i++)
		glock__lock_drop(&space->parts[i].lock);
}

/* ---- lines and entries ---- */

/* Returns the piece of the table that has the line. A piece has as many lines as all before it. */
static unsigned int piece_of(uint32_t line)
{
	return line < FIRST ? 0 : 32 - (unsigned int)__builtin_clz(line / FIRST);
}

static struct glock__hash_line *line_at(const struct glock_space *space, uint32_t line)
{
	unsigned int piece = piece_of(line);

	return &space->hash[piece][piece ? line - (FIRST << (piece - 1)) : line];
}

/*
 * An entry has the number of the glock in its lower bits and the tag above. The number takes so
 * many bits. With these the table can name twice as many glocks as it has entries.
 */
static unsigned int number_bits(uint32_t lines)
{
	return (unsigned int)__builtin_ctz(lines) + 6;
}

/* Returns the number with the mark of a value block below. 0 is no glock. */
static uint32_t code_of(uint32_t number)
{
	return number << 1 | number >> 31;
}

static uint32_t number_of(uint32_t entry, unsigned int bits)
{
	uint32_t code = entry & ((1u << bits) - 1);

	return code >> 1 | code << 31;
}

/* Returns the tag, in its place. */
static uint32_t tag_of(uint64_t hash, unsigned int bits)
{
	return (uint32_t)(hash >> 32) << bits;
}

/* Returns the entry for a glock, or 0 if its number takes too many bits. */
static uint32_t entry_for(const struct glock *gl, uint64_t hash, unsigned int bits)
{
	uint32_t code = code_of(glock__number_of(gl));

	return code >> bits ? 0 : tag_of(hash, bits) | code;
}

static struct glock *at_number(struct glock_space *space, uint32_t number)
{
	bool lvb = number & GLOCK__NUMBER_LVB;

	return glock__slab_had(&space->glocks[lvb], number & ~GLOCK__NUMBER_LVB)
		   ? glock__at(space, number)
		   : NULL;
}

/* ---- looking ---- */

static bool is_wanted(const struct glock *gl, unsigned int type, uint64_t number)
{
	return gl && atom_load64(&gl->number) == number && atom_load8(&gl->type) == type;
}

static struct glock *find_in(struct glock_space *space, const struct glock__hash_line *line,
			     uint64_t hash, unsigned int bits, unsigned int type, uint64_t number)
{
	uint32_t tag = tag_of(hash, bits);
	struct glock *gl;

	for (unsigned int i = 0; i < GLOCK__HASH_ENTRIES; i++) {
		uint32_t entry = atom_load32(&line->entries[i]);

		if (!entry)
			break; /* the entries have no gaps */
		if ((entry ^ tag) >> bits)
			continue;
		gl = at_number(space, number_of(entry, bits));
		if (is_wanted(gl, type, number))
			return gl;
	}
	gl = glock__at(space, atom_load32(&line->chain));
	while (gl && !is_wanted(gl, type, number))
		gl = glock__at(space, atom_load32(&gl->hash_next));
	return gl;
}

struct glock *glock__hash_find(struct glock_space *space, unsigned int type, uint64_t number)
{
	uint64_t hash = glock__hash_of(type, number);
	uint32_t lines = atom_load32(&space->lines);

	if (!lines)
		return NULL;
	return find_in(space, line_at(space, (uint32_t)hash & (lines - 1)), hash,
		       number_bits(lines), type, number);
}

/* ---- changes ---- */

/* Under the lock of the part. */
static void put_into(struct glock_space *space, struct glock *gl, uint32_t lines)
{
	uint64_t hash = glock__hash_of(gl->type, gl->number);
	struct glock__hash_line *line = line_at(space, (uint32_t)hash & (lines - 1));
	uint32_t entry = entry_for(gl, hash, number_bits(lines));

	for (unsigned int i = 0; entry && i < GLOCK__HASH_ENTRIES; i++) {
		if (!line->entries[i]) {
			atom_store32(&line->entries[i], entry);
			return;
		}
	}
	atom_store32(&gl->hash_next, line->chain);
	atom_store32(&line->chain, glock__number_of(gl));
}

/* Puts the glocks of a line where they belong in a table with twice as many lines. */
static void split(struct glock_space *space, struct glock__hash_line *line, uint32_t lines)
{
	struct glock__hash_line was = *line;
	struct glock *gl, *next;

	for (unsigned int i = 0; i < GLOCK__HASH_ENTRIES; i++)
		atom_store32(&line->entries[i], 0);
	atom_store32(&line->chain, 0);
	for (unsigned int i = 0; i < GLOCK__HASH_ENTRIES; i++)
		if (was.entries[i])
			put_into(space,
				 glock__at(space, number_of(was.entries[i], number_bits(lines))),
				 2 * lines);
	for (gl = glock__at(space, was.chain); gl; gl = next) {
		next = glock__at(space, gl->hash_next);
		put_into(space, gl, 2 * lines);
	}
}

/* Doubles the table. Without memory the table stays as it is. */
static void grow(struct glock_space *space)
{
	uint32_t old = space->lines, more = old ? old : FIRST;
	struct glock__hash_line *piece = aligned_alloc(64, more * sizeof(*piece));

	if (!piece)
		return;
	memset(piece, 0, more * sizeof(*piece));
	glock__lock_parts(space);
	space->hash[piece_of(old)] = piece;
	for (uint32_t i = 0; i < old; i++)
		split(space, line_at(space, i), old);
	atom_store32(&space->lines, old + more);
	glock__unlock_parts(space);
}

bool glock__hash_reserve(struct glock_space *space)
{
	if (space->n_glocks >= (uint64_t)FULL * space->lines && space->lines < LINES_MAX)
		grow(space);
	return space->lines;
}

void glock__hash_add(struct glock_space *space, struct glock *gl)
{
	put_into(space, gl, space->lines);
}

void glock__hash_remove(struct glock_space *space, struct glock *gl)
{
	uint64_t hash = glock__hash_of(gl->type, gl->number);
	struct glock__hash_line *line = line_at(space, (uint32_t)hash & (space->lines - 1));
	uint32_t entry = entry_for(gl, hash, number_bits(space->lines));
	uint32_t number = glock__number_of(gl), *at = &line->chain;

	unsigned int n = 0, place = GLOCK__HASH_ENTRIES;

	for (; n < GLOCK__HASH_ENTRIES && line->entries[n]; n++)
		if (line->entries[n] == entry)
			place = n;
	if (place < n) {
		atom_store32(&line->entries[place], line->entries[n - 1]);
		atom_store32(&line->entries[n - 1], 0);
		return;
	}
	while (*at != number)
		at = &glock__at(space, *at)->hash_next;
	atom_store32(at, gl->hash_next);
}

void glock__hash_free(struct glock_space *space)
{
	for (unsigned int i = 0; i < GLOCK__HASH_PIECES; i++)
		free(space->hash[i]);
}
