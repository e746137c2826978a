/* SPDX-License-Identifier: MIT */
/* etcd_text.c - see etcd_text.h. */
#include "etcd_text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool text_room(struct glock__text *t, size_t more)
{
	size_t room = t->room ? t->room : 512;
	char *s;

	if (t->failed || t->n + more < t->room)
		return !t->failed;
	while (room <= t->n + more)
		room *= 2;
	s = realloc(t->s, room);
	if (!s) {
		t->failed = true;
		return false;
	}
	t->s = s;
	t->room = room;
	return true;
}

void glock__text_add(struct glock__text *t, const char *s, size_t n)
{
	if (!text_room(t, n + 1))
		return;
	memcpy(t->s + t->n, s, n);
	t->n += n;
	t->s[t->n] = '\0';
}

void glock__text_printf(struct glock__text *t, const char *fmt, ...)
{
	char line[256];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	if (n < 0 || (size_t)n >= sizeof(line))
		t->failed = true;
	else
		glock__text_add(t, line, (size_t)n);
}

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void glock__text_bytes(struct glock__text *t, const char *name, const void *bytes, size_t n)
{
	const unsigned char *at = bytes;

	glock__text_printf(t, "\"%s\":\"", name);
	for (size_t i = 0; i < n; i += 3) {
		uint32_t three = (uint32_t)at[i] << 16 | (i + 1 < n ? at[i + 1] << 8 : 0) |
				 (i + 2 < n ? at[i + 2] : 0);
		char out[4];

		for (int k = 0; k < 4; k++)
			out[k] = digits[three >> (18 - 6 * k) & 63];
		if (i + 1 >= n)
			out[2] = '=';
		if (i + 2 >= n)
			out[3] = '=';
		glock__text_add(t, out, 4);
	}
	glock__text_add(t, "\"", 1);
}

void glock__text_free(struct glock__text *t)
{
	free(t->s);
	*t = (struct glock__text){0};
}

int64_t glock__json_number(const json_t *object, const char *name)
{
	const json_t *field = json_object_get(object, name);

	if (json_is_string(field)) /* cluster ids use all 64 bits */
		return (int64_t)strtoull(json_string_value(field), NULL, 10);
	return json_is_integer(field) ? json_integer_value(field) : 0;
}

static int digit_of(char c)
{
	const char *at = c ? strchr(digits, c) : NULL;

	return at ? (int)(at - digits) : -1;
}

unsigned char *glock__json_bytes(const json_t *object, const char *name, size_t *n)
{
	const char *s = json_string_value(json_object_get(object, name));
	size_t len = s ? strlen(s) : 0;
	unsigned char *out = malloc(len / 4 * 3 + 1);
	uint32_t bits = 0;

	*n = 0;
	while (len && s[len - 1] == '=')
		len--;
	for (size_t i = 0; out && i < len; i++) {
		int d = digit_of(s[i]);

		if (d < 0) {
			free(out);
			return NULL;
		}
		bits = bits << 6 | (uint32_t)d;
		if (i % 4)
			out[(*n)++] = (unsigned char)(bits >> (6 - 2 * (i % 4)));
	}
	return out;
}
