/* SPDX-License-Identifier: MIT */
/*
 * pack.c - packs numbers and strings into bytes, and unpacks them with bounds checks.
 */
#include "parcel.h"

#include <stdlib.h>
#include <string.h>

void pack_bytes(struct pack *p, const void *data, size_t n)
{
	if (n > p->room - p->n && !p->failed) {
		size_t room = p->room ? p->room : 4096;
		unsigned char *more;

		while (room - p->n < n)
			room *= 2;
		more = realloc(p->data, room);
		p->failed = !more;
		if (more) {
			p->data = more;
			p->room = room;
		}
	}
	if (p->failed || !n)
		return;
	memcpy(p->data + p->n, data, n);
	p->n += n;
}

void pack_number(struct pack *p, uint64_t v)
{
	unsigned char bytes[10];
	size_t n = 0;

	for (; v >= 0x80; v >>= 7)
		bytes[n++] = (unsigned char)(v | 0x80);
	bytes[n++] = (unsigned char)v;
	pack_bytes(p, bytes, n);
}

/* Packs a number. Small numbers of either sign are short. */
void pack_signed(struct pack *p, int64_t v)
{
	uint64_t u = (uint64_t)v << 1;

	pack_number(p, v < 0 ? ~u : u);
}

void pack_string(struct pack *p, const char *s)
{
	size_t n = s ? strlen(s) : 0;

	pack_number(p, s ? n + 1 : 0);
	pack_bytes(p, s, n);
}

void pack_free(struct pack *p)
{
	free(p->data);
	*p = (struct pack){0};
}

uint64_t unpack_number(struct unpack *u)
{
	uint64_t v = 0;

	for (unsigned shift = 0; shift < 64; shift += 7) {
		unsigned char byte;

		if (u->at == u->end)
			break;
		byte = *u->at++;
		v |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return v;
	}
	u->bad = true;
	u->at = u->end;
	return 0;
}

int64_t unpack_signed(struct unpack *u)
{
	uint64_t v = unpack_number(u);

	return (int64_t)(v & 1 ? ~(v >> 1) : v >> 1);
}

const void *unpack_bytes(struct unpack *u, size_t n)
{
	const unsigned char *at = u->at;

	if (n > (size_t)(u->end - u->at)) {
		u->bad = true;
		u->at = u->end;
		return NULL;
	}
	if (!n)
		return ""; /* an empty string needs no address in the data */
	u->at += n;
	return at;
}

char *unpack_string(struct unpack *u, bool *failed)
{
	uint64_t n = unpack_number(u);
	const void *bytes;
	char *copy;

	if (!n || n - 1 > SIZE_MAX / 2)
		return NULL;
	bytes = unpack_bytes(u, (size_t)n - 1);
	if (!bytes)
		return NULL;
	copy = malloc((size_t)n);
	if (!copy) {
		*failed = true;
		return NULL;
	}
	memcpy(copy, bytes, (size_t)n - 1);
	copy[n - 1] = '\0';
	return copy;
}
