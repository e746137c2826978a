/* SPDX-License-Identifier: MIT */
/*
 * text.h - a fast writer of text, because the generator spends its time on gigabytes of numbers.
 */
#ifndef BENCH_TEXT_H
#define BENCH_TEXT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { TEXT_LINE_MAX = 2048, KERNEL_BUFFER = 4096 };

struct text {
	FILE *file;
	char line[TEXT_LINE_MAX]; /* the line in progress */
	size_t len;
	bool loses;  /* as the kernel's seq_file: a line that does not fit into 4 KiB is lost */
	size_t room; /* left of the 4 KiB */
};

static inline bool text_open(struct text *t, const char *path, bool loses)
{
	*t = (struct text){.file = fopen(path, "w"), .loses = loses, .room = KERNEL_BUFFER};
	return t->file && setvbuf(t->file, NULL, _IOFBF, 1 << 20) == 0;
}

static inline void put_chars(struct text *t, const char *s, size_t n)
{
	memcpy(t->line + t->len, s, n);
	t->len += n;
}

static inline void put(struct text *t, const char *s)
{
	put_chars(t, s, strlen(s));
}

static inline void put_u(struct text *t, uint64_t v)
{
	char digits[20], *p = digits + sizeof(digits);

	do
		*--p = (char)('0' + v % 10);
	while (v /= 10);
	put_chars(t, p, (size_t)(digits + sizeof(digits) - p));
}

/* Writes hexadecimal, at least `width` digits. */
static inline void put_hex(struct text *t, uint64_t v, int width)
{
	char digits[16], *p = digits + sizeof(digits);

	do
		*--p = "0123456789abcdef"[v & 15];
	while ((v >>= 4) || digits + sizeof(digits) - p < width);
	put_chars(t, p, (size_t)(digits + sizeof(digits) - p));
}

static inline void put_end(struct text *t)
{
	t->line[t->len++] = '\n';
	if (t->loses && t->len > t->room) {
		t->room = KERNEL_BUFFER;
	} else {
		t->room -= t->loses ? t->len : 0;
		fwrite(t->line, 1, t->len, t->file);
	}
	t->len = 0;
}

static inline bool text_close(struct text *t)
{
	bool bad = ferror(t->file) != 0;

	return fclose(t->file) == 0 && !bad;
}

#endif
