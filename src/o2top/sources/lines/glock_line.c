/* SPDX-License-Identifier: MIT */
/*
 * glock_line.c - parses the lines that a process of a libglock lock space publishes.
 */
#include "glock_line.h"

#include "o2top/base/scan.h"

#include <stdio.h>

bool glock_node_line_known(const char *text, size_t len, char *user, size_t size)
{
	struct scan s = scan_line(text, len);
	const char *command = memrchr(text, ']', len);
	uint64_t version;

	/* A process may have a bracket in its command, and older versions print no user. */
	command =
	    command && command + 2 < text + len && command[1] == ' ' ? command + 2 : text + len;
	snprintf(user, size, "%.*s", (int)(text + len - command), command);
	return scan_text(&s, "N ") && scan_u64(&s, &version) && version == 1 &&
	       (scan_done(&s) || scan_char(&s, ' '));
}

static bool scan_mode(struct scan *s, enum glock_line_mode *mode)
{
	static const char names[][3] = {"UN", "EX", "DF", "SH"};

	for (unsigned i = 0; i < 4; i++)
		if (scan_text(s, names[i])) {
			*mode = (enum glock_line_mode)i;
			return true;
		}
	return false;
}

/* Parses "BUCKET=COUNT,...", which may be empty. */
static bool scan_buckets(struct scan *s, uint32_t buckets[LENT_BUCKETS])
{
	uint32_t bucket, count;

	while (!scan_done(s) && *s->p >= '0' && *s->p <= '9') {
		if (!scan_u32(s, &bucket) || bucket >= LENT_BUCKETS || !scan_char(s, '=') ||
		    !scan_u32(s, &count))
			return false;
		buckets[bucket] = count;
		if (!scan_char(s, ','))
			return true;
	}
	return true;
}

/* Parses what follows " g:" */
static bool scan_lent(struct scan *s, struct glock_line *l)
{
	uint64_t df, sh;

	if (!scan_i64(s, &l->since_ns) || !scan_char(s, '/') || !scan_u64(s, &l->granted_ex) ||
	    !scan_char(s, '/') || !scan_u64(s, &df) || !scan_char(s, '/') || !scan_u64(s, &sh) ||
	    !scan_text(s, " h:"))
		return false;
	l->granted_shared = df + sh;
	for (int i = 0; i < LENT_TIMES; i++)
		if ((i && !scan_char(s, '/')) || !scan_buckets(s, l->times[i]))
			return false;
	return l->lent = true;
}

const char *glock_line_parse(struct glock_line *l, const char *text, size_t len)
{
	struct scan s = scan_line(text, len);

	*l = (struct glock_line){0};
	if (!scan_text(&s, "G ") || !scan_u32(&s, &l->type) || !scan_char(&s, ':') ||
	    !scan_hex(&s, &l->number))
		return "no glock's type and number";
	if (l->type >= GLOCK_LINE_TYPES)
		return "no such type of glock";
	if (!scan_text(&s, " s:") || !scan_mode(&s, &l->state) || !scan_text(&s, " t:") ||
	    !scan_mode(&s, &l->target))
		return "no mode";
	if (!scan_text(&s, " d:") || !scan_u64(&s, &l->dcount) || !scan_text(&s, " q:") ||
	    !scan_u64(&s, &l->qcount) || !scan_text(&s, " b:") || !scan_u64(&s, &l->basts))
		return "a counter is missing";
	if (!scan_text(&s, " w:") || !scan_u64(&s, &l->waits) || !scan_char(&s, '/') ||
	    !scan_i64(&s, &l->waited_ns) || !scan_char(&s, '/') || !scan_i64(&s, &l->longest_ns) ||
	    l->waited_ns < 0 || l->longest_ns < 0)
		return "no waits";
	if (scan_text(&s, " g:") && !scan_lent(&s, l))
		return "no grants and times";
	return NULL; /* the fields of a later version follow */
}

const char *glock_holder_line_parse(struct glock_holder_line *l, const char *text, size_t len)
{
	struct scan s = scan_line(text, len);
	const char *flags, *end;
	size_t n;

	*l = (struct glock_holder_line){0};
	if (!scan_text(&s, "H s:") || !scan_mode(&s, &l->mode) || l->mode == GLOCK_LINE_UN)
		return "no mode";
	if (!scan_text(&s, " f:"))
		return "no flags";
	n = scan_word(&s, &flags);
	l->holds = memchr(flags, 'H', n) != NULL;
	l->waits = memchr(flags, 'W', n) != NULL;
	if (!scan_text(&s, " at:") || !scan_i64(&s, &l->at_ns) || !scan_text(&s, " p:") ||
	    !scan_i64(&s, &l->pid) || l->at_ns < 0)
		return "no time or no pid";
	if (!scan_text(&s, " ["))
		return "no command";
	/* A command may hold brackets. The last bracket before the place ends the command. */
	end = memrchr(s.p, ']', scan_left(&s));
	if (!end)
		return "no command";
	snprintf(l->comm, sizeof(l->comm), "%.*s", (int)(end - s.p), s.p);
	return NULL;
}

const char *glock_object_line_parse(struct glock_object_line *l, const char *text, size_t len)
{
	struct scan s = scan_line(text, len);

	*l = (struct glock_object_line){0};
	if (!scan_text(&s, "O at:") || !scan_i64(&s, &l->at_ns) || l->at_ns < 0 ||
	    !scan_char(&s, ' '))
		return "no time";
	scan_blanks(&s);
	if (!scan_text(&s, "P: "))
		return NULL;
	l->path = s.p;
	l->path_len = scan_left(&s);
	return NULL;
}
