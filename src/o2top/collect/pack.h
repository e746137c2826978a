/* SPDX-License-Identifier: MIT */
/*
 * pack.h - numbers and strings as bytes: seven bits a byte, the lowest first.
 *
 * Unpacked data is not trusted. If it is too long or ends too early, only `bad` is set.
 */
#ifndef O2TOP_PACK_H
#define O2TOP_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pack {
	unsigned char *data;
	size_t n, room;
	bool failed; /* no memory: later items are lost */
};

void pack_bytes(struct pack *p, const void *data, size_t n);
void pack_number(struct pack *p, uint64_t v);
void pack_signed(struct pack *p, int64_t v);
/* Packs a string, or NULL, which is not the same as "". */
void pack_string(struct pack *p, const char *s);
void pack_free(struct pack *p);

struct unpack {
	const unsigned char *at, *end;
	bool bad;
};

uint64_t unpack_number(struct unpack *u);
int64_t unpack_signed(struct unpack *u);
/* Returns n bytes, or NULL and sets `bad`. */
const void *unpack_bytes(struct unpack *u, size_t n);
/*
 * Returns a copy of a string, or NULL. NULL means that NULL was packed, or bad data, or no memory
 * (then *failed is set).
 */
char *unpack_string(struct unpack *u, bool *failed);

#endif
