/* SPDX-License-Identifier: MIT */
/*
 * dlm_line.c - parses the lines of the kernel DLM's dump.
 */
#include "dlm_line.h"

#include "o2top/base/scan.h"

static bool scan_hex_byte(struct scan *s, char *out)
{
	uint64_t v;

	if (!scan_hexn(s, 2, &v))
		return false;
	*out = (char)v;
	return true;
}

static bool scan_rsb_name(struct scan *s, struct dlm_rsb_line *o)
{
	if (o->len > DLM_NAME_MAX)
		return false;
	if (scan_text(s, "str ")) {
		if (scan_left(s) != o->len)
			return false;
		memcpy(o->name, s->p, o->len);
		s->p = s->end;
		return memchr(o->name, '\0', o->len) == NULL;
	}
	o->hex = true;
	if (!scan_text(s, "hex"))
		return false;
	for (uint32_t i = 0; i < o->len; i++)
		if (!scan_char(s, ' ') || !scan_hex_byte(s, &o->name[i]))
			return false;
	return scan_done(s);
}

bool dlm_is_heading(const char *line, size_t len)
{
	struct scan s = scan_line(line, len);

	return scan_text(&s, "rsb ptr ");
}

const char *dlm_rsb_parse(struct dlm_rsb_line *o, const char *line, size_t len)
{
	struct scan s = scan_line(line, len);
	const char *word;
	size_t n;

	memset(o, 0, sizeof(*o));
	if (!scan_text(&s, "rsb "))
		return "the line does not begin with rsb";
	n = scan_word(&s, &word);
	if (!n || n >= sizeof(o->pointer) || memchr(word, '\0', n))
		return "no pointer follows rsb";
	memcpy(o->pointer, word, n);
	if (!scan_char(&s, ' ') || !scan_i32(&s, &o->nodeid) || !scan_char(&s, ' ') ||
	    !scan_hex(&s, &o->first_lkid) || !scan_char(&s, ' ') || !scan_hex(&s, &o->flags) ||
	    !scan_char(&s, ' ') || !scan_i32(&s, &o->root) || !scan_char(&s, ' ') ||
	    !scan_i32(&s, &o->recover) || !scan_char(&s, ' ') || !scan_u32(&s, &o->recover_count) ||
	    !scan_char(&s, ' ') || !scan_u32(&s, &o->len) || !scan_char(&s, ' '))
		return "a resource's numbers are not understood";
	return scan_rsb_name(&s, o) ? NULL : "a resource's name is not understood";
}

const char *dlm_lkb_parse(struct dlm_lkb_line *o, const char *line, size_t len)
{
	struct scan s = scan_line(line, len);

	if (!scan_text(&s, "lkb ") || !scan_hex(&s, &o->id) || !scan_char(&s, ' ') ||
	    !scan_i32(&s, &o->nodeid) || !scan_char(&s, ' ') || !scan_hex(&s, &o->remid) ||
	    !scan_char(&s, ' ') || !scan_u32(&s, &o->pid) || !scan_char(&s, ' ') ||
	    !scan_u64(&s, &o->xid) || !scan_char(&s, ' ') || !scan_hex(&s, &o->exflags) ||
	    !scan_char(&s, ' ') || !scan_hex(&s, &o->flags))
		return "a lock's ids and flags are not understood";
	if (!scan_char(&s, ' ') || !scan_i32(&s, &o->status) || !scan_char(&s, ' ') ||
	    !scan_i32(&s, &o->granted) || !scan_char(&s, ' ') || !scan_i32(&s, &o->requested) ||
	    !scan_char(&s, ' ') || !scan_i32(&s, &o->bast_mode) || !scan_char(&s, ' ') ||
	    !scan_i32(&s, &o->rsb_lookup) || !scan_char(&s, ' ') || !scan_i32(&s, &o->wait_type) ||
	    !scan_char(&s, ' ') || !scan_u32(&s, &o->lvb_seq))
		return "a lock's status and modes are not understood";
	if (!scan_char(&s, ' ') || !scan_u64(&s, &o->since_ns) || !scan_char(&s, ' ') ||
	    !scan_u64(&s, &o->bast_ns))
		return "a lock's times are not understood";
	/* a later kernel may add fields */
	return scan_done(&s) || *s.p == ' ' ? NULL : "text follows a lock's times";
}

bool dlm_gfs2_name(const struct dlm_rsb_line *rsb, uint32_t *type, uint64_t *number)
{
	uint64_t t;

	/* The format is "%8x%16llx", so full columns touch. */
	if (rsb->len != 24 || !scan_column(rsb->name, 8, &t) ||
	    !scan_column(rsb->name + 8, 16, number))
		return false;
	*type = (uint32_t)t;
	return true;
}
