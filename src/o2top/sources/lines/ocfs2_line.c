/* SPDX-License-Identifier: MIT */
/*
 * ocfs2_line.c - parses a line of locking_state, and the names of OCFS2's locks.
 */
#include "ocfs2_line.h"

#include "o2top/base/scan.h"

#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

/*
 * The LVB of most lines: 64 fields of a zero byte. They are compared at once, because they are 3/4
 * of the line.
 */
#define Z4 "0x0\t0x0\t0x0\t0x0\t"
#define Z16 Z4 Z4 Z4 Z4
static const char zero_lvb[] = Z16 Z16 Z16 Z16;
enum { ZERO_LVB_LEN = sizeof(zero_lvb) - 1 };

/* Returns how many numbers follow the LVB in a version. */
static unsigned statistics_of(uint32_t version)
{
	return version < 2 ? 0 : version < 4 ? 9 : 12;
}

bool ocfs2_name_parse(struct ocfs2_name *out, const char *name, size_t len)
{
	struct scan s = scan_line(name, len);
	uint64_t number, low;
	char type;

	if (!len || *name < 'A' || *name > 'Z')
		return false;
	type = *s.p++;
	if (type != 'N' && !scan_text(&s, "000000"))
		return false;
	if (!scan_hexn(&s, 16, &number) || !scan_hexn(&s, 8, &low) || !scan_done(&s))
		return false;
	*out = (struct ocfs2_name){type, number, (uint32_t)low};
	return true;
}

#ifdef __SSE2__
/*
 * Reads one byte as the kernel prints it: 0x0, 0x5f, or 0xffffff80 where chars are signed. Returns
 * false for any other text.
 */
static inline bool lvb_byte(const char *field, const char *tab, uint8_t *byte, bool *is_unsigned)
{
	size_t len = (size_t)(tab - field);
	/* Both are digits plus one, because 0 is no digit. */
	unsigned high = len == 3 ? 1 : scan_hex_digits[(unsigned char)tab[-2]];
	unsigned low = scan_hex_digits[(unsigned char)tab[-1]];
	bool extended = memcmp(field, "0xffffff", 8) == 0;
	bool plain = memcmp(field, "0x", 2) == 0;

	*byte = (uint8_t)((high - 1) << 4 | (low - 1));
	*is_unsigned |= (len == 4) & (high > 8);
	return (high != 0) & (low != 0) &
	       ((len == 10) ? extended & (high > 8) : plain & ((len == 3) | (len == 4)));
}

/*
 * Reads the LVB of a line that the kernel printed. Returns its length, or 0 for any other text. The
 * ends of fields are found 16 characters at a time, so that no field holds up the next.
 */
static size_t scan_lvb(const char *begin, const char *end, struct ocfs2_line *o)
{
	const __m128i tab = _mm_set1_epi8('\t');
	const char *field = begin;
	bool good = true, is_unsigned = false;
	int n = 0;

	/* This reads up to 8 characters of a field that begins in these 16 characters. */
	for (const char *p = begin; end - p >= 16 + 8; p += 16) {
		unsigned tabs = (unsigned)_mm_movemask_epi8(
		    _mm_cmpeq_epi8(_mm_loadu_si128((const void *)p), tab));

		for (; tabs; tabs &= tabs - 1) {
			const char *at = p + __builtin_ctz(tabs);

			good &= lvb_byte(field, at, &o->lvb[n], &is_unsigned);
			field = at + 1;
			if (++n < OCFS2_LVB_LEN)
				continue;
			o->lvb_unsigned = good && is_unsigned;
			return good ? (size_t)(field - begin) : 0;
		}
	}
	return 0;
}
#endif

static bool parse_lvb(struct scan *s, struct ocfs2_line *out)
{
#ifdef __SSE2__
	size_t len;
#endif

	if (scan_left(s) >= ZERO_LVB_LEN && memcmp(s->p, zero_lvb, ZERO_LVB_LEN) == 0) {
		memset(out->lvb, 0, sizeof(out->lvb));
		s->p += ZERO_LVB_LEN;
		return true;
	}
#ifdef __SSE2__
	len = scan_lvb(s->p, s->end, out);
	s->p += len;
	if (len)
		return true;
#endif
	for (int i = 0; i < OCFS2_LVB_LEN; i++) {
		uint64_t v;

		if (!scan_0xhex(s, &v))
			return false;
		/*
		 * The kernel prints a plain char. Where char is signed, 0x80 comes out as
		 * 0xffffff80.
		 */
		if (v > 0xff && v < 0xffffff80)
			return false;
		if (v > UINT32_MAX)
			return false;
		if (v >= 0x80 && v <= 0xff)
			out->lvb_unsigned = true;
		out->lvb[i] = (uint8_t)v;
		/* An editor may have removed the last TAB of version 1. */
		if (!scan_char(s, '\t') && !(i == OCFS2_LVB_LEN - 1 && scan_done(s)))
			return false;
	}
	return true;
}

static bool field_u32(struct scan *s, uint32_t *out)
{
	return scan_u32(s, out) && (scan_char(s, '\t') || scan_done(s));
}

static bool field_u64(struct scan *s, uint64_t *out)
{
	return scan_u64(s, out) && (scan_char(s, '\t') || scan_done(s));
}

static const char *parse_statistics(struct scan *s, struct ocfs2_line *o)
{
	if (!field_u32(s, &o->gets[0]) || !field_u32(s, &o->gets[1]) ||
	    !field_u32(s, &o->fails[0]) || !field_u32(s, &o->fails[1]))
		return "fields 75 to 78 (gets, failures) are not four numbers";
	if (!field_u64(s, &o->total_ns[0]) || !field_u64(s, &o->total_ns[1]))
		return "fields 79 and 80 (total wait) are not two numbers";
	if (!field_u32(s, &o->max[0]) || !field_u32(s, &o->max[1]) || !field_u32(s, &o->refreshes))
		return "fields 81 to 83 (longest wait, refreshes) are not three numbers";
	if (o->version < 4)
		return NULL;
	if (!field_u64(s, &o->last_us[0]) || !field_u64(s, &o->last_us[1]) ||
	    !field_u64(s, &o->wait_us))
		return "fields 84 to 86 (times) are not three numbers";
	return NULL;
}

static const char *parse_head(struct scan *s, struct ocfs2_line *o)
{
	const char *name = s->p;
	const char *tab = memchr(name, '\t', scan_left(s));
	size_t len = tab ? (size_t)(tab - name) : 0;

	if (!len || len >= OCFS2_NAME_MAX || !ocfs2_name_parse(&o->id, name, len))
		return "field 2 is not the name of an OCFS2 lock";
	memcpy(o->name, name, len);
	memset(o->name + len, 0, OCFS2_NAME_MAX - len);
	s->p = tab + 1;
	if (!scan_i32(s, &o->level) || !scan_char(s, '\t') || !scan_0xhex(s, &o->flags) ||
	    !scan_char(s, '\t') || !scan_0xhex(s, &o->action) || !scan_char(s, '\t') ||
	    !scan_0xhex(s, &o->unlock_action) || !scan_char(s, '\t'))
		return "fields 3 to 6 (level, flags, actions) are not understood";
	if (!scan_u32(s, &o->holders[0]) || !scan_char(s, '\t') || !scan_u32(s, &o->holders[1]) ||
	    !scan_char(s, '\t') || !scan_i32(s, &o->requested) || !scan_char(s, '\t') ||
	    !scan_i32(s, &o->blocking) || !scan_char(s, '\t'))
		return "fields 7 to 10 (holders, requested, blocking) are not four numbers";
	return NULL;
}

const char *ocfs2_line_parse(struct ocfs2_line *o, const char *line, size_t len, bool complete)
{
	struct scan s = scan_line(line, len);
	const char *wrong;
	uint64_t version;

	if (!complete && (!len || line[len - 1] != '\t'))
		return "the line is cut off";
	if (!scan_0xhex(&s, &version) || !scan_char(&s, '\t'))
		return "the line does not begin with a version";
	if (version == 0 || version > 0xffff)
		return "the version is unknown";
	o->version = (uint32_t)version;
	o->lvb_unsigned = false;
	wrong = parse_head(&s, o);
	if (wrong)
		return wrong;
	if (!parse_lvb(&s, o))
		return "fields 11 to 74 (LVB) are not 64 bytes";
	memset(o->gets, 0, offsetof(struct ocfs2_line, tail) - offsetof(struct ocfs2_line, gets));
	if (statistics_of(o->version)) {
		wrong = parse_statistics(&s, o);
		if (wrong)
			return wrong;
	}
	o->tail = s.p;
	o->tail_len = scan_left(&s);
	if (o->tail_len && o->version <= 4)
		return "the line has more fields than its version";
	return NULL;
}

static uint64_t big_endian(const uint8_t *p, int n)
{
	uint64_t v = 0;

	for (int i = 0; i < n; i++)
		v = v << 8 | p[i];
	return v;
}

bool ocfs2_lvb_decode(struct ocfs2_lvb *out, const uint8_t lvb[OCFS2_LVB_LEN])
{
	/*
	 * Byte 0 is the version of the structure. 0 says that the inode is gone or that nothing was
	 * stored yet.
	 */
	if (lvb[0] != 5)
		return false;
	out->size = big_endian(lvb + 40, 8);
	out->mode = (uint16_t)big_endian(lvb + 48, 2);
	out->links = (uint16_t)big_endian(lvb + 50, 2);
	out->generation = (uint32_t)big_endian(lvb + 56, 4);
	return true;
}
