/* SPDX-License-Identifier: MIT */
/*
 * plock_line.c - parses "4: POSIX  ADVISORY  WRITE 1234 fd:01:12827 0 EOF", and a name behind it.
 *
 * The kernel prints flocks, leases and waiters in the same file. These lines are skipped.
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
	if ((!take_word(&s, "POSIX") && !take_word(&s, "OFDLCK")) || !take_word(&s, "ADVISORY"))
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
