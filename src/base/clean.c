/* SPDX-License-Identifier: MIT */
/*
 * clean.c - tells which characters of a foreign text a terminal must not get.
 */
#include "clean.h"

#include <string.h>

/* The lead bytes of a length, and the least character that needs this length. */
static const struct {
	unsigned char mask, lead;
	uint32_t least;
} lengths[] = {{0x80, 0x00, 0}, {0xe0, 0xc0, 0x80}, {0xf0, 0xe0, 0x800}, {0xf8, 0xf0, 0x10000}};

size_t glock__utf8(const char *text, size_t n, uint32_t *c)
{
	const unsigned char *p = (const unsigned char *)text;
	size_t len = 0;

	while (n && len < 4 && (*p & lengths[len].mask) != lengths[len].lead)
		len++;
	if (len >= 4 || len >= n)
		return 0;
	*c = *p & (unsigned char)~lengths[len].mask;
	for (size_t i = 1; i <= len; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		*c = *c << 6 | (p[i] & 0x3f);
	}
	/* A longer form than needed, a half of UTF-16's pairs, or beyond Unicode. */
	if (*c < lengths[len].least || (*c >= 0xd800 && *c < 0xe000) || *c > 0x10ffff)
		return 0;
	return len + 1;
}

bool glock__is_control(uint32_t c)
{
	static const struct {
		uint32_t first, last;
	} controls[] = {{0x00, 0x1f},     {0x7f, 0x9f},     {0x61c, 0x61c},
			{0x200e, 0x200f}, {0x2028, 0x202e}, {0x2066, 0x2069}};

	for (size_t i = 0; i < sizeof(controls) / sizeof(controls[0]); i++)
		if (c >= controls[i].first && c <= controls[i].last)
			return true;
	return false;
}

void glock__clean(char *text, size_t n)
{
	for (size_t at = 0, len; at < n; at += len) {
		uint32_t c;

		len = glock__utf8(text + at, n - at, &c);
		if (len && !glock__is_control(c))
			continue;
		len = len ? len : 1;
		memset(text + at, '?', len);
	}
}
