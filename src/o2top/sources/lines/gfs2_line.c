/* SPDX-License-Identifier: MIT */
/*
 * gfs2_line.c - parses the lines of GFS2's debugfs files and of its trace event.
 */
#include "gfs2_line.h"

#include "o2top/base/scan.h"

const char *const gfs2_type_names[GFS2_TYPE_MAX] = {
    "reserved", "nondisk", "inode", "rgrp", "meta", "iopen", "flock", "plock", "quota", "journal",
};

const char *const gfs2_stat_names[GFS2_STAT_MAX] = {
    "srtt", "srttvar", "srttb", "srttvarb", "sirt", "sirtvar", "dlm", "queue",
};

static const struct {
	char text[3];
	enum gfs2_state state;
} states[] = {
    {"UN", GFS2_UN}, {"SH", GFS2_SH}, {"DF", GFS2_DF}, {"EX", GFS2_EX}, {"??", GFS2_STATE_UNKNOWN}};

static bool scan_state(struct scan *s, enum gfs2_state *out, char text[3])
{
	if (scan_left(s) < 2)
		return false;
	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++)
		if (s->p[0] == states[i].text[0] && s->p[1] == states[i].text[1]) {
			*out = states[i].state;
			memcpy(text, states[i].text, 3);
			s->p += 2;
			return true;
		}
	return false;
}

/*
 * Reads flags: letters, and the number that a kernel prints of bits without a letter ("lDpILo0x4").
 * The word may be empty.
 */
static bool scan_flags(struct scan *s, char out[GFS2_FLAGS_MAX])
{
	const char *word;
	size_t n = scan_word(s, &word);

	if (n >= GFS2_FLAGS_MAX)
		return false;
	for (size_t i = 0; i < n; i++)
		if (!((word[i] | 0x20) >= 'a' && (word[i] | 0x20) <= 'z') &&
		    !(word[i] >= '0' && word[i] <= '9'))
			return false;
	memcpy(out, word, n);
	out[n] = '\0';
	return true;
}

static bool scan_number(struct scan *s, uint32_t *type, uint64_t *number)
{
	return scan_u32(s, type) && scan_char(s, '/') && scan_hex(s, number);
}

static bool scan_pair(struct scan *s, int64_t *mean, int64_t *var)
{
	return scan_i64(s, mean) && scan_char(s, '/') && scan_i64(s, var);
}

/*
 * Reads a pair that glstats prints as unsigned. A step of the wall clock can make the numbers
 * negative; so can the unsigned variance of kernels before 5.2. All 64 bits are read and kept
 * signed.
 */
static bool scan_upair(struct scan *s, int64_t *mean, int64_t *var)
{
	uint64_t m, v;

	if (!scan_u64(s, &m) || !scan_char(s, '/') || !scan_u64(s, &v))
		return false;
	*mean = (int64_t)m;
	*var = (int64_t)v;
	return true;
}

/* Skips a word " name:value" or " name: number", which a later kernel may have added. */
static bool skip_field(struct scan *s)
{
	struct scan at = *s;
	const char *word;

	if (!scan_char(&at, ' ') || scan_done(&at) || *at.p < 'a' || *at.p > 'z')
		return false;
	while (!scan_done(&at) && *at.p >= 'a' && *at.p <= 'z')
		at.p++;
	if (!scan_char(&at, ':'))
		return false;
	if (scan_left(&at) > 1 && at.p[0] == ' ' && at.p[1] >= '0' && at.p[1] <= '9')
		at.p++;
	scan_word(&at, &word);
	*s = at;
	return true;
}

/* Reads a key, and skips fields in front of it that are not known. */
static bool scan_key(struct scan *s, const char *key)
{
	struct scan at = *s;

	while (!scan_text(&at, key))
		if (!skip_field(&at))
			return false;
	*s = at;
	return true;
}

const char *gfs2_glock_parse(struct gfs2_glock_line *o, const char *line, size_t len)
{
	struct scan s = scan_line(line, len);

	memset(o, 0, sizeof(*o));
	if (!scan_text(&s, "G:  s:") || !scan_state(&s, &o->state, o->states[0]))
		return "no state after \"G:  s:\"";
	if (!scan_key(&s, " n:") || !scan_number(&s, &o->type, &o->number))
		return "n: is not TYPE/NUMBER";
	if (!scan_key(&s, " f:") || !scan_flags(&s, o->flags))
		return "f: does not hold flags";
	if (!scan_key(&s, " t:") || !scan_state(&s, &o->target, o->states[1]) ||
	    !scan_key(&s, " d:") || !scan_state(&s, &o->demote, o->states[2]) ||
	    !scan_char(&s, '/') || !scan_u64(&s, &o->demote_us))
		return "t: and d: do not hold states";
	o->from_queue = scan_char(&s, '?');
	if (!scan_key(&s, " a:") || !scan_i64(&s, &o->ail))
		return "a: is not a number";
	o->has_revokes = scan_text(&s, " v:");
	if (o->has_revokes && !scan_i64(&s, &o->revokes))
		return "v: is not a number";
	if (!scan_key(&s, " r:") || !scan_i64(&s, &o->refs))
		return "r: is not a number";
	o->has_hold = scan_text(&s, " m:");
	if (o->has_hold && !scan_i64(&s, &o->hold_jiffies))
		return "m: is not a number";
	o->has_pages = scan_text(&s, " p:");
	if (o->has_pages && !scan_u64(&s, &o->pages))
		return "p: is not a number";
	return scan_done(&s) || *s.p == ' ' ? NULL : "text follows the last number";
}

/*
 * Reads the command in brackets, which may hold any byte, and the caller's symbol. The symbol holds
 * no "] ".
 */
static bool scan_comm(struct scan *s, char comm[GFS2_COMM_MAX], char symbol[GFS2_SYMBOL_MAX])
{
	const char *close = NULL;
	size_t n, m;

	if (!scan_text(s, " ["))
		return false;
	for (const char *p = s->p; p + 1 < s->end; p++)
		if (p[0] == ']' && p[1] == ' ')
			close = p;
	if (!close)
		return false;
	n = (size_t)(close - s->p);
	m = (size_t)(s->end - close) - 2;
	if (n >= GFS2_COMM_MAX || m >= GFS2_SYMBOL_MAX || memchr(s->p, '\0', scan_left(s)))
		return false;
	memcpy(comm, s->p, n);
	comm[n] = '\0';
	memcpy(symbol, close + 2, m);
	symbol[m] = '\0';
	s->p = s->end;
	return true;
}

const char *gfs2_holder_parse(struct gfs2_holder_line *o, const char *line, size_t len)
{
	struct scan s = scan_line(line, len);

	memset(o, 0, sizeof(*o));
	if (!scan_text(&s, " H: s:") || !scan_state(&s, &o->state, o->state_text))
		return "no state after \" H: s:\"";
	if (!scan_key(&s, " f:") || !scan_flags(&s, o->flags))
		return "f: does not hold flags";
	if (!scan_key(&s, " e:") || !scan_i32(&s, &o->error) || !scan_key(&s, " p:") ||
	    !scan_i64(&s, &o->pid))
		return "e: and p: are not numbers";
	while (skip_field(&s))
		;
	if (!scan_comm(&s, o->comm, o->symbol))
		return "no command in brackets and symbol";
	o->holds = strchr(o->flags, 'H') != NULL;
	o->waits = strchr(o->flags, 'W') != NULL;
	return NULL;
}

const char *gfs2_inode_parse(struct gfs2_inode_line *o, const char *line, size_t len)
{
	struct scan s = scan_line(line, len);
	const char *flags;
	uint64_t disk_size;

	memset(o, 0, sizeof(*o));
	if (!scan_text(&s, " I: n:") || !scan_u64(&s, &o->formal) || !scan_char(&s, '/') ||
	    !scan_u64(&s, &o->number))
		return "n: is not FORMAL/ADDRESS";
	if (!scan_text(&s, " t:") || !scan_u32(&s, &o->dtype) || !scan_text(&s, " f:"))
		return "t: and f: are not numbers";
	flags = s.p;
	if (!scan_0xhex(&s, &o->flags))
		return "t: and f: are not numbers";
	/* RHEL 5 ends the line here, and RHEL 6 prints the sizes in memory and on disk */
	if (scan_done(&s) && s.p - flags >= 4)
		return NULL;
	if (!scan_text(&s, " d:") || !scan_0xhex(&s, &o->disk_flags))
		return "d: is not a number";
	o->has_size = scan_text(&s, " s:");
	if (!o->has_size || !scan_u64(&s, &o->size))
		return "s: is not a number";
	if (scan_char(&s, '/') && !scan_u64(&s, &disk_size))
		return "s: is not two numbers";
	o->has_pages = scan_text(&s, " p:");
	if (o->has_pages && !scan_u64(&s, &o->pages))
		return "p: is not a number";
	return scan_done(&s) || *s.p == ' ' ? NULL : "text follows the last number";
}

const char *gfs2_stats_parse(struct gfs2_stats_line *o, const char *line, size_t len)
{
	struct scan s = scan_line(line, len);

	if (!scan_text(&s, "G: n:") || !scan_number(&s, &o->type, &o->number))
		return "no TYPE/NUMBER after \"G: n:\"";
	if (!scan_key(&s, " rtt:") || !scan_upair(&s, &o->srtt, &o->srttvar) ||
	    !scan_key(&s, " rttb:") || !scan_upair(&s, &o->srttb, &o->srttvarb) ||
	    !scan_key(&s, " irt:") || !scan_upair(&s, &o->sirt, &o->sirtvar))
		return "rtt:, rttb: and irt: are not three pairs of numbers";
	if (!scan_key(&s, " dcnt: ") || !scan_u64(&s, &o->dcount) || !scan_key(&s, " qcnt: ") ||
	    !scan_u64(&s, &o->qcount))
		return "dcnt: and qcnt: are not numbers";
	return scan_done(&s) || *s.p == ' ' ? NULL : "text follows the last number";
}

/* Reads one of the names after any number of blanks, and sets its index. */
static bool scan_name(struct scan *s, const char *const names[], unsigned n, unsigned *index)
{
	const char *word;
	size_t len;

	scan_blanks(s);
	word = s->p;
	while (!scan_done(s) && *s->p >= 'a' && *s->p <= 'z')
		s->p++;
	len = (size_t)(s->p - word);
	for (*index = 0; *index < n; ++*index)
		if (strlen(names[*index]) == len && memcmp(names[*index], word, len) == 0)
			return true;
	return false;
}

const char *gfs2_sbstats_parse(struct gfs2_sbstats_line *o, const char *line, size_t len)
{
	struct scan s = scan_line(line, len);
	unsigned type, stat = 0;

	o->n_cpus = 0;
	if (scan_text(&s, "type ")) {
		type = GFS2_TYPE_MAX;
		scan_blanks(&s);
		if (!scan_text(&s, "cpu"))
			return "\"type\" without \"cpu\"";
	} else if (!scan_name(&s, gfs2_type_names, GFS2_TYPE_MAX, &type) ||
		   !scan_name(&s, gfs2_stat_names, GFS2_STAT_MAX, &stat)) {
		return "the line does not begin with a type of glock and a statistic";
	}
	if (!scan_char(&s, ':'))
		return "no colon";
	o->type = type;
	o->stat = (enum gfs2_stat)stat;
	for (scan_blanks(&s); !scan_done(&s); scan_blanks(&s)) {
		if (o->n_cpus == sizeof(o->value) / sizeof(o->value[0]))
			return "too many CPUs";
		if (!scan_u64(&s, &o->value[o->n_cpus++]))
			return "a value is not a number";
	}
	return NULL;
}

/* The line is " [000] ...1.   329.334686: gfs2_glock_lock_time:". */
bool gfs2_stamp_parse(const char *line, const char *event, uint64_t *us)
{
	const char *end = event, *p;
	struct scan s;
	uint64_t sec, frac;

	while (end > line && end[-1] == ' ')
		end--;
	if (end == line || end[-1] != ':')
		return false;
	for (p = --end; p > line && p[-1] != ' '; p--)
		;
	s = (struct scan){p, end};
	if (!scan_u64(&s, &sec) || sec > UINT64_MAX / 2000000 || !scan_char(&s, '.') ||
	    scan_left(&s) != 6 || !scan_u64(&s, &frac) || !scan_done(&s))
		return false;
	*us = sec * 1000000 + frac;
	return true;
}

bool gfs2_lock_time_parse(struct gfs2_lock_time *o, const char *line, size_t len,
			  const char **wrong)
{
	static const char event[] = "gfs2_glock_lock_time: ";
	const char *at = memmem(line, len, event, sizeof(event) - 1);
	struct scan s;
	uint64_t lksb_flags;

	if (!at)
		return false;
	s = (struct scan){at + sizeof(event) - 1, line + len};
	/* trace-cmd pads the names */
	scan_blanks(&s);
	*wrong = "the time stamp is not understood";
	if (!gfs2_stamp_parse(line, at, &o->at_us))
		return true;
	*wrong = "the event's numbers are not understood";
	if (!scan_u32(&s, &o->major) || !scan_char(&s, ',') || !scan_u32(&s, &o->minor) ||
	    !scan_text(&s, " glock ") || !scan_u32(&s, &o->type) || !scan_char(&s, ':') ||
	    !scan_u64(&s, &o->number))
		return true;
	if (!scan_text(&s, " status:") || !scan_i32(&s, &o->status) || !scan_text(&s, " flags:") ||
	    !scan_hex(&s, &lksb_flags) || lksb_flags > UINT32_MAX || !scan_text(&s, " tdiff:") ||
	    !scan_i64(&s, &o->tdiff))
		return true;
	o->lksb_flags = (uint32_t)lksb_flags;
	if (!scan_text(&s, " srtt:") || !scan_pair(&s, &o->srtt, &o->srttvar) ||
	    !scan_text(&s, " srttb:") || !scan_pair(&s, &o->srttb, &o->srttvarb) ||
	    !scan_text(&s, " sirt:") || !scan_pair(&s, &o->sirt, &o->sirtvar) ||
	    !scan_text(&s, " dcnt:") || !scan_u64(&s, &o->dcount) || !scan_text(&s, " qcnt:") ||
	    !scan_u64(&s, &o->qcount))
		return true;
	*wrong = scan_done(&s) ? NULL : "text follows the last number";
	return true;
}
