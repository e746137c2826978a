/* SPDX-License-Identifier: MIT */
/*
 * scan.h - a cursor that reads numbers and words out of a line that o2top did not write.
 *
 * A cursor covers [p, end). No function reads past end or needs a NUL. Each function takes the item
 * that its name says and moves on. Otherwise the function returns false and leaves the cursor in
 * place. A number that does not fit is refused, not wrapped. A plausible but wrong counter is worse
 * than a lost line.
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

/* Takes the blanks that come next, if any. */
static inline void scan_blanks(struct scan *s)
{
	while (scan_char(s, ' '))
		;
}

/*
 * Compares with a text. If the caller's text is a constant, the compiler compares two, four or
 * eight bytes at once. Otherwise it would call memcmp(), which takes longer than the rest of a
 * word.
 */
__attribute__((always_inline)) static inline bool scan_same(const char *p, const char *text,
							    size_t n)
{
#ifndef __OPTIMIZE__
	return memcmp(p, text, n) == 0; /* gcc would warn of the branches for other lengths */
#endif
	if (n > 16 || n == 1)
		return memcmp(p, text, n) == 0;
	if (n >= 8)
		return memcmp(p, text, 8) == 0 && memcmp(p + n - 8, text + n - 8, 8) == 0;
	if (n >= 4)
		return memcmp(p, text, 4) == 0 && memcmp(p + n - 4, text + n - 4, 4) == 0;
	return n < 2 || (memcmp(p, text, 2) == 0 && memcmp(p + n - 2, text + n - 2, 2) == 0);
}

__attribute__((always_inline)) static inline bool scan_text(struct scan *s, const char *text)
{
	size_t n = strlen(text);

	if (scan_left(s) < n || !scan_same(s->p, text, n))
		return false;
	s->p += n;
	return true;
}

/* Reads a number digit by digit, whatever its length. */
static inline bool scan_u64_each(struct scan *s, uint64_t *out)
{
	const char *p = s->p;
	uint64_t v = 0;

	while (p != s->end) {
		unsigned d = (unsigned)(unsigned char)*p - '0';

		if (d > 9)
			break;
		/* Up to 19 digits always fit. Only the 20th can overflow. */
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

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
/*
 * Reads the decimal digits with which 8 characters begin, as a number. Returns how many they are.
 *
 * The digits are read all at once. A loop over digits ends at another place for every number, which
 * no processor foresees.
 */
static inline unsigned scan_digits8(const char *p, uint64_t *v)
{
	uint64_t x, other;
	unsigned n;

	memcpy(&x, p, sizeof(x));
	x ^= 0x3030303030303030u;
	/* A byte above 9 gets its high bit. A carry spoils only the bytes after such a byte. */
	other = ((x + 0x7676767676767676u) | x) & 0x8080808080808080u;
	n = other ? (unsigned)__builtin_ctzll(other) / 8 : 8;
	if (!n)
		return 0;
	x <<= 64 - 8 * n; /* zeros in front; then digits become pairs, fours and eight */
	x = x * 2561 >> 8;
	x = (x & 0x00ff00ff00ff00ffu) * 6553601 >> 16;
	*v = (x & 0x0000ffff0000ffffu) * 42949672960001u >> 32;
	return n;
}

/* Reads a number of 1 to 16 digits, if the line is long enough. Returns 0 for any other number. */
static inline unsigned scan_digits16(const struct scan *s, uint64_t *v)
{
	static const uint32_t scale[9] = {1,      10,      100,      1000,     10000,
					  100000, 1000000, 10000000, 100000000};
	uint64_t low = 0;
	unsigned n;

	if (scan_left(s) < 8)
		return 0;
	n = scan_digits8(s->p, v);
	if (n < 8)
		return n;
	if (scan_left(s) <= 16)
		return 0;
	n = scan_digits8(s->p + 8, &low);
	if (n == 8 && (unsigned)(unsigned char)s->p[16] - '0' <= 9)
		return 0;
	*v = *v * scale[n] + low;
	return 8 + n;
}
#else
static inline unsigned scan_digits16(const struct scan *s, uint64_t *v)
{
	(void)s;
	(void)v;
	return 0;
}
#endif

static inline bool scan_u64(struct scan *s, uint64_t *out)
{
	unsigned n;

	/* Most numbers have one digit. */
	if (scan_left(s) >= 2 && (unsigned)(unsigned char)s->p[1] - '0' > 9) {
		unsigned d = (unsigned)(unsigned char)s->p[0] - '0';

		if (d > 9)
			return false;
		s->p++;
		*out = d;
		return true;
	}
	n = scan_digits16(s, out);
	if (!n)
		return scan_u64_each(s, out);
	s->p += n;
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

/* Reads n numbers with commas between them. Returns false if there are fewer. */
static inline bool scan_numbers(struct scan *s, int32_t *out, int n)
{
	for (int i = 0; i < n; i++)
		if ((i && !scan_char(s, ',')) || !scan_i32(s, &out[i]))
			return false;
	return true;
}

/* The value of each character as a hexadecimal digit, plus one; 0 for no digit. */
static const uint8_t scan_hex_digits[256] = {
    ['0'] = 1,  ['1'] = 2,  ['2'] = 3,  ['3'] = 4,  ['4'] = 5,  ['5'] = 6,  ['6'] = 7,  ['7'] = 8,
    ['8'] = 9,  ['9'] = 10, ['a'] = 11, ['b'] = 12, ['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16,
    ['A'] = 11, ['B'] = 12, ['C'] = 13, ['D'] = 14, ['E'] = 15, ['F'] = 16,
};

/* Returns the value of a hexadecimal digit, -1 for no digit. */
static inline int scan_hexdigit(char c)
{
	return (int)scan_hex_digits[(unsigned char)c] - 1;
}

/* Reads a hexadecimal number without 0x, of at most 16 digits. */
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

/* Reads exactly n hexadecimal digits. The parts of an OCFS2 lock name are printed in this way. */
static inline bool scan_hexn(struct scan *s, int n, uint64_t *out)
{
	uint64_t v = 0;
	int any = 0; /* negative once a character is no digit */

	if (scan_left(s) < (size_t)n)
		return false;
	for (int i = 0; i < n; i++) {
		int d = scan_hexdigit(s->p[i]);

		any |= d;
		v = v << 4 | (unsigned)d;
	}
	if (any < 0)
		return false;
	s->p += n;
	*out = v;
	return true;
}

/* Reads a word up to a blank, which may be empty. Returns its length. */
static inline size_t scan_word(struct scan *s, const char **word)
{
	const char *p = s->p;

	while (p != s->end && *p != ' ')
		p++;
	*word = s->p;
	s->p = p;
	return (size_t)(p - *word);
}

/* Reads a hexadecimal number that is right-aligned in a column. */
static inline bool scan_column(const char *column, size_t width, uint64_t *out)
{
	struct scan s = scan_line(column, width);

	scan_blanks(&s);
	return scan_hex(&s, out) && scan_done(&s);
}

#endif
