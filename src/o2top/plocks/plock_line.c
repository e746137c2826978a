/* SPDX-License-Identifier: MIT */
/*
 * plock_line.c - parses the lines of /proc/locks and of dlm_tool plocks.
 *
 * /proc/locks has "4: POSIX  ADVISORY  WRITE 1234 fd:01:12827 0 EOF", and o2top adds a name.
 * dlm_tool has "9288 WR 0-99 nodeid 1 pid 77 owner ffff8c0a rown 0 WAITING".
 * The kernel prints leases and waiters in the same file. These lines are skipped.
 */
#include "plocks_read.h"

#include "o2top/base/scan.h"

static void skip_blanks(struct scan *s)
{
	while (scan_char(s, ' '))
		;
}

/* Takes a word and the blanks behind it. */
static bool take_word(struct scan *s, const char *word)
{
	struct scan at = *s;

	if (!scan_text(&at, word) || !scan_char(&at, ' '))
		return false;
	skip_blanks(&at);
	*s = at;
	return true;
}

/* Takes "fd:01:12827 ". */
static bool take_file(struct scan *s, struct plock_line *out)
{
	uint64_t major, minor;

	if (!scan_hex(s, &major) || !scan_char(s, ':') || !scan_hex(s, &minor) ||
	    !scan_char(s, ':') || !scan_u64(s, &out->inode) || !scan_char(s, ' ') ||
	    major > UINT32_MAX || minor > UINT32_MAX)
		return false;
	out->device[0] = (unsigned)major;
	out->device[1] = (unsigned)minor;
	return true;
}

static bool take_range(struct scan *s, struct plock_line *out)
{
	if (!scan_u64(s, &out->start) || !scan_char(s, ' '))
		return false;
	out->end = UINT64_MAX;
	return (scan_text(s, "EOF") || scan_u64(s, &out->end)) && out->end >= out->start;
}

static void take_name(struct scan *s, struct plock_line *out)
{
	size_t n;

	skip_blanks(s);
	n = scan_left(s);
	n = n < sizeof(out->comm) ? n : sizeof(out->comm) - 1;
	memcpy(out->comm, s->p, n);
}

bool plock_line_parse(struct plock_line *out, const char *line, size_t len, const char **wrong)
{
	struct scan s = scan_line(line, len);
	uint64_t number;

	*out = (struct plock_line){0};
	*wrong = NULL;
	if (scan_u64(&s, &number) && !scan_char(&s, ':'))
		return false;
	skip_blanks(&s);
	out->flock = take_word(&s, "FLOCK");
	if ((!out->flock && !take_word(&s, "POSIX") && !take_word(&s, "OFDLCK")) ||
	    !take_word(&s, "ADVISORY"))
		return false;
	out->write = take_word(&s, "WRITE");
	if (!out->write && !take_word(&s, "READ"))
		return false;
	if (!scan_i64(&s, &out->pid) || !scan_char(&s, ' ') || !take_file(&s, out) ||
	    !take_range(&s, out) || (!scan_done(&s) && *s.p != ' '))
		*wrong = "no process, file and range where a lock has them";
	else
		take_name(&s, out);
	return true;
}

/* ---- dlm_tool plocks ----------------------------------------------------------------------- */

/* Takes "comm 77 sqlite3", which o2top adds behind the list. */
static bool take_comm(struct scan *s, struct dlm_plock_line *out)
{
	size_t n;

	if (!scan_text(s, "comm ") || !scan_u32(s, &out->pid) || !scan_char(s, ' '))
		return false;
	n = scan_left(s);
	n = n < sizeof(out->comm) ? n : sizeof(out->comm) - 1;
	memcpy(out->comm, s->p, n);
	return true;
}

bool dlm_plock_parse(struct dlm_plock_line *out, const char *line, size_t len, const char **wrong)
{
	struct scan s = scan_line(line, len);
	int32_t rown;

	*out = (struct dlm_plock_line){0};
	*wrong = NULL;
	if (take_comm(&s, out))
		return true;
	s = scan_line(line, len);
	*wrong = "neither a lock of dlm_tool plocks nor a resource";
	if (!scan_u64(&s, &out->inode) || !scan_char(&s, ' '))
		return false;
	/* "9288 rown 1 unused_ms 20": a file without locks, of a daemon with plock_ownership */
	if (scan_text(&s, "rown ")) {
		*wrong = NULL;
		return false;
	}
	out->write = scan_text(&s, "WR ");
	if ((!out->write && !scan_text(&s, "RD ")) || !scan_u64(&s, &out->start) ||
	    !scan_char(&s, '-') || !scan_u64(&s, &out->end) || out->end < out->start ||
	    !scan_text(&s, " nodeid ") || !scan_i32(&s, &out->number) || !scan_text(&s, " pid ") ||
	    !scan_u32(&s, &out->pid) || !scan_text(&s, " owner ") || !scan_hex(&s, &out->owner) ||
	    !scan_text(&s, " rown ") || !scan_i32(&s, &rown))
		return false;
	/* PENDING: the daemon waits for the owner of the resource */
	out->waits = scan_text(&s, " WAITING") || scan_text(&s, " PENDING");
	if (!scan_done(&s))
		return false;
	*wrong = NULL;
	return true;
}
