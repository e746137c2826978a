/* SPDX-License-Identifier: MIT */
/*
 * lock_list.c - lists of the DLM's locks, a line each, as dlm_all.
 *
 *	id 0000006d gr PR rq IV pid 1456 MSTCPY 2 "       2            2454"     dlm_tool lockdump
 *	6d 2 502 1456 0 1c 10000 2 3 -1 230842125 0 24 "       2            2454"
 *dlm/LOCKSPACE_locks
 *
 * The second form has the age of a lock in its queue, in microseconds.
 */
#include "forms.h"
#include "o2top/base/scan.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

enum { MASTER_COPY = 0x10000 };

static bool scan_mode(struct scan *s, int *mode)
{
	const char *word;
	size_t n = scan_word(s, &word);

	*mode = forms_mode(word, n);
	return n == 2;
}

/* Takes the quoted name at the end of a line. */
static size_t name_of(const char *line, size_t len, const char **name)
{
	const char *first = memchr(line, '"', len), *last = memrchr(line, '"', len);

	if (!first || last == first || last - first > 65)
		return 0;
	*name = first + 1;
	return (size_t)(last - first - 1);
}

static int put_resource(struct forms *f, int master, const char *name, size_t n)
{
	struct buffer *out = f->file(f, FS_GFS2, *f->dlm ? f->dlm : "-", FILE_DLM_ALL);

	return forms_print(out, "rsb 0 %d 0 0 0 0 0 %zu str %.*s\n", master, n, (int)n, name);
}

static int take_dump_line(struct forms *f, const char *line, size_t len)
{
	struct scan s = scan_line(line, len);
	bool copy = false;
	int granted, requested, status;
	uint64_t id, pid;
	int32_t node;
	const char *name;
	size_t n = name_of(line, len, &name);

	if (!n || !scan_text(&s, "id ") || !scan_hex(&s, &id) || !scan_text(&s, " gr ") ||
	    !scan_mode(&s, &granted) || !scan_text(&s, " rq ") || !scan_mode(&s, &requested) ||
	    !scan_text(&s, " pid ") || !scan_u64(&s, &pid))
		return 0;
	if (scan_text(&s, " MSTCPY "))
		copy = true;
	else if (!scan_text(&s, " master "))
		return 0;
	if (!scan_i32(&s, &node))
		return 0;
	status = requested < 0 ? 2 : granted < 0 ? 1 : 3;
	if (put_resource(f, copy ? 0 : node, name, n) ||
	    forms_print(f->file(f, FS_GFS2, *f->dlm ? f->dlm : "-", FILE_DLM_ALL),
			"lkb %" PRIx64 " %d 0 %u 0 0 %x %d %d %d 0 0 0 0 0 0\n", id, (int)node,
			(unsigned)pid, copy ? MASTER_COPY : 0, status, granted, requested))
		return -ENOMEM;
	return 1;
}

static int take_locks_line(struct forms *f, const char *line, size_t len)
{
	struct scan s = scan_line(line, len);
	uint64_t id, remid, xid, exflags, flags, age;
	int32_t node, status, granted, requested, master;
	uint32_t pid, length;
	int64_t since = 0;
	const char *name;
	size_t n = name_of(line, len, &name);

	if (!n || !scan_hex(&s, &id) || !scan_char(&s, ' ') || !scan_i32(&s, &node) ||
	    !scan_char(&s, ' ') || !scan_hex(&s, &remid) || !scan_char(&s, ' ') ||
	    !scan_u32(&s, &pid) || !scan_char(&s, ' ') || !scan_u64(&s, &xid) ||
	    !scan_char(&s, ' ') || !scan_hex(&s, &exflags) || !scan_char(&s, ' ') ||
	    !scan_hex(&s, &flags) || !scan_char(&s, ' ') || !scan_i32(&s, &status) ||
	    !scan_char(&s, ' ') || !scan_i32(&s, &granted) || !scan_char(&s, ' ') ||
	    !scan_i32(&s, &requested) || !scan_char(&s, ' ') || !scan_u64(&s, &age) ||
	    !scan_char(&s, ' ') || !scan_i32(&s, &master) || !scan_char(&s, ' ') ||
	    !scan_u32(&s, &length) || length != n)
		return 0;
	if (f->up_us < 0) {
		f->up_us = FORMS_UP_ASSUMED_US;
		f->up_assumed = true;
	}
	if (age < (uint64_t)f->up_us)
		since = f->up_us - (int64_t)age;
	if (put_resource(f, master, name, n) ||
	    forms_print(f->file(f, FS_GFS2, *f->dlm ? f->dlm : "-", FILE_DLM_ALL),
			"lkb %" PRIx64 " %d %" PRIx64 " %u %" PRIu64 " %" PRIx64 " %" PRIx64
			" %d %d %d 0 0 0 0 %" PRId64 "000 0\n",
			id, (int)node, remid, pid, xid, exflags, flags, (int)status, (int)granted,
			(int)requested, since))
		return -ENOMEM;
	return 1;
}

int forms_lock_list(struct forms *f, const char *line, size_t len)
{
	int got;

	if (len < 20 || line[len - 1] != '"')
		return 0;
	got = take_dump_line(f, line, len);
	return got ? got : take_locks_line(f, line, len);
}
