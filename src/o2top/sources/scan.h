/* SPDX-License-Identifier: MIT */
/*
 * Reading numbers and words out of a line that is not ours.
 *
 * A cursor over [p, end): nothing reads past end, nothing needs a NUL, and each function either takes
 * what it names and moves on, or returns false and leaves the cursor where it was. Numbers that do not
 * fit are refused, not wrapped: a counter that looks plausible but is wrong is worse than a lost line.
 */
#ifndef O2TOP_SCAN_H
#define O2TOP_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct scan {
	const char *p, *end;
};

static inline struct scan scan_line(const char *line, size_t len)
{
	return (struct scan){line, line + len};
}

static inline bool scan_done(const struct scan *s)
{
	return s->p == s->end;
}

static inline size_t scan_left(const struct scan *s)
{
	return (size_t)(s->end - s->p);
}

static inline bool scan_char(struct scan *s, char c)
{
	if (s->p == s->end || *s->p != c)
		return false;
	s->p++;
	return true;
}

static inline bool scan_text(struct scan *s, const char *text)
{
	size_t n = strlen(text);

	if (scan_left(s) < n || memcmp(s->p, text, n) != 0)
		return false;
	s->p += n;
	return true;
}

static inline bool scan_u64(struct scan *s, uint64_t *out)
{
	const char *p = s->p;
	uint64_t v = 0;

	while (p != s->end) {
		unsigned d = (unsigned)(unsigned char)*p - '0';

		if (d > 9)
			break;
		/* up to 19 digits always fit; only the 20th can overflow */
		if (p - s->p >= 19 && (p - s->p > 19 || v > (UINT64_MAX - d) / 10))
			return false;
		v = v * 10 + d;
		p++;
	}
	if (p == s->p)
		return false;
	s->p = p;
	*out = v;
	return true;
}

static inline bool scan_u32(struct scan *s, uint32_t *out)
{
	struct scan at = *s;
	uint64_t v;

	if (!scan_u64(&at, &v) || v > UINT32_MAX)
		return false;
	*s = at;
	*out = (uint32_t)v;
	return true;
}

static inline bool scan_i64(struct scan *s, int64_t *out)
{
	struct scan at = *s;
	bool minus = scan_char(&at, '-');
	uint64_t v;

	if (!scan_u64(&at, &v) || v > (uint64_t)INT64_MAX)
		return false;
	*s = at;
	*out = minus ? -(int64_t)v : (int64_t)v;
	return true;
}

static inline bool scan_i32(struct scan *s, int32_t *out)
{
	struct scan at = *s;
	int64_t v;

	if (!scan_i64(&at, &v) || v < INT32_MIN || v > INT32_MAX)
		return false;
	*s = at;
	*out = (int32_t)v;
	return true;
}

static inline int scan_hexdigit(char c)
{
	unsigned d = (unsigned)(unsigned char)c - '0';

	if (d <= 9)
		return (int)d;
	d = ((unsigned)(unsigned char)c | 0x20) - 'a';
	return d <= 5 ? (int)d + 10 : -1;
}

/* Hexadecimal without 0x, at most 16 digits. */
static inline bool scan_hex(struct scan *s, uint64_t *out)
{
	const char *p = s->p;
	uint64_t v = 0;
	int d;

	while (p != s->end && (d = scan_hexdigit(*p)) >= 0) {
		if (p - s->p >= 16)
			return false;
		v = v << 4 | (unsigned)d;
		p++;
	}
	if (p == s->p)
		return false;
	s->p = p;
	*out = v;
	return true;
}

static inline bool scan_0xhex(struct scan *s, uint64_t *out)
{
	struct scan at = *s;

	if (!scan_text(&at, "0x") || !scan_hex(&at, out))
		return false;
	*s = at;
	return true;
}

/* Exactly n hexadecimal digits, as the parts of an OCFS2 lock name are printed. */
static inline bool scan_hexn(struct scan *s, int n, uint64_t *out)
{
	uint64_t v = 0;

	if (scan_left(s) < (size_t)n)
		return false;
	for (int i = 0; i < n; i++) {
		int d = scan_hexdigit(s->p[i]);

		if (d < 0)
			return false;
		v = v << 4 | (unsigned)d;
	}
	s->p += n;
	*out = v;
	return true;
}

/* A word up to a blank; may be empty. Returns its length. */
static inline size_t scan_word(struct scan *s, const char **word)
{
	const char *p = s->p;

	while (p != s->end && *p != ' ')
		p++;
	*word = s->p;
	s->p = p;
	return (size_t)(p - *word);
}

#endif
