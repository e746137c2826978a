/* SPDX-License-Identifier: MIT */
/*
 * log.c - glocks in lines of a kernel log, a journal or glocktop.
 *
 *	[ 8121.481920] gfs2: fsid=c1:data.1: G:  s:EX n:2/805f f:Dqob t:EX d:UN/603701000 ...
 *	Nov 20 06:07:43 web1 kernel: gfs2: fsid=c1:data.1:  H: s:EX f:H e:0 p:139794 [(ended)] ...
 *	@ data  Mon Feb  1 15:04:11 2016  @alpha.example.com dlm: ...
 */
#include "forms.h"
#include "o2top/base/scan.h"

#include <errno.h>
#include <string.h>
#include <time.h>

/* Returns where a line of a glock begins: "G:", or " H:" and so on. NULL if there is none. */
static const char *glock_line(const char *p, const char *end)
{
	const char *at = p;

	while (at < end && *at == ' ')
		at++;
	if (end - at > 5 && memcmp(at, "G:", 2) == 0) {
		const char *s = at + 2;

		while (s < end && *s == ' ')
			s++;
		return end - s > 2 && memcmp(s, "s:", 2) == 0 ? at : NULL;
	}
	return end - at > 3 && strchr("HIRBLU", *at) && at[1] == ':' && at[2] == ' ' ? at : NULL;
}

/* Takes the time since boot from "[ 8121.481920] ". Returns the place behind it. */
static const char *take_stamp(struct forms *f, const char *p, const char *end)
{
	struct scan s = scan_line(p, (size_t)(end - p));
	uint64_t sec, part = 0;

	if (!scan_char(&s, '['))
		return p;
	scan_blanks(&s);
	if (!scan_u64(&s, &sec) || !scan_char(&s, '.') || !scan_u64(&s, &part) ||
	    !scan_char(&s, ']') || sec > 1000000000 || part > 999999)
		return p;
	scan_char(&s, ' ');
	f->mono_us = (int64_t)(sec * 1000000 + part);
	return s.p;
}

/* Takes "2026-11-20T06:07:43+00:00" or a stamp without a zone, as UTC. */
static void take_date(struct forms *f, const char *p, size_t len)
{
	char text[40];
	struct tm tm = {0};
	const char *rest;
	long zone = 0;
	time_t t;

	if (len < 19 || p[4] != '-')
		return;
	memcpy(text, p, len < 39 ? len : 39);
	text[len < 39 ? len : 39] = '\0';
	rest = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
	if (!rest)
		return;
	if (*rest == '.' || *rest == ',')
		rest += 1 + strspn(rest + 1, "0123456789");
	if ((*rest == '+' || *rest == '-') && rest[1] && rest[2] && rest[3] && rest[4]) {
		int colon = rest[3] == ':';

		zone =
		    ((rest[1] - '0') * 10 + rest[2] - '0') * 3600L +
		    ((rest[3 + colon] - '0') * 10 + (rest[4 + colon] ? rest[4 + colon] - '0' : 0)) *
			60L;
		zone = *rest == '-' ? -zone : zone;
	}
	t = timegm(&tm);
	if (t > 0 && zone > -90000 && zone < 90000)
		f->real_us = ((int64_t)t - zone) * 1000000;
}

/* Skips the part of a journal line up to "kernel: ", and takes its host and date. */
static const char *take_journal(struct forms *f, const char *line, size_t len)
{
	const char *kernel = forms_after(line, len, " kernel: "), *host, *end;

	if (!kernel) /* journalctl -o with-unit and rsyslog add a number */
		kernel = forms_after(line, len, " kernel[0]: ");
	if (!kernel)
		return line;
	take_date(f, line, len);
	end = memmem(line, len, " kernel", 7);
	host = memrchr(line, ' ', (size_t)(end - line));
	if (host && end - host > 1)
		forms_copy(f->host, host + 1, (size_t)(end - host - 1));
	return kernel;
}

/* Takes "@ data   Mon Feb  1 15:04:11 2016  @alpha.example.com dlm: ..." of glocktop. */
static int take_glocktop(struct forms *f, const char *line, size_t len)
{
	struct scan s = scan_line(line, len);
	const char *word, *host, *end = line + len;
	size_t n;

	if (!scan_text(&s, "@ "))
		return 0;
	n = scan_word(&s, &word);
	host = forms_after(s.p, scan_left(&s), " @");
	if (!n || !host)
		return 0;
	forms_copy(f->table, word, n);
	for (n = 0; host + n < end && host[n] != ' ' && host[n] != '.';)
		n++;
	forms_copy(f->host, host, n);
	return 1;
}

/* Takes "fsid=c1:data.1: " with what comes before it. Returns the place behind it, or NULL. */
static const char *take_fsid(struct forms *f, const char *p, const char *end)
{
	const char *name = forms_after(p, (size_t)(end - p), "fsid="), *stop, *dot;

	stop = name ? memmem(name, (size_t)(end - name), ": ", 2) : NULL;
	if (!stop || name - p > 16)
		return NULL;
	/* the number of the journal, which a mount without one lacks */
	dot = memrchr(name, '.', (size_t)(stop - name));
	forms_copy(f->table, name, (size_t)((dot ? dot : stop) - name));
	return stop + 1;
}

/* Prints a line as debugfs does: "G:  s:..." and " H: s:...". */
static int put_line(struct forms *f, const char *at, const char *end)
{
	const char *table = *f->table ? f->table : "-";
	struct buffer *out = f->file(f, FS_GFS2, table, FILE_GLOCKS);
	const char *note = NULL;
	bool glock = *at == 'G';

	if (glock) {
		at += 2;
		while (at < end && *at == ' ')
			at++;
		/* glocktop's words about the inode */
		note = memmem(at, (size_t)(end - at), " (", 2);
	}
	if (note)
		end = note;
	while (end > at && end[-1] == ' ')
		end--;
	return forms_print(out, "%s%.*s\n", glock ? "G:  " : " ", (int)(end - at), at);
}

int forms_log(struct forms *f, const char *line, size_t len)
{
	const char *end = line + len, *p, *at;
	int64_t mono = f->mono_us, real = f->real_us;
	bool named;

	if (len < 6 || len > 4096)
		return 0;
	if (take_glocktop(f, line, len))
		return 1;
	p = take_journal(f, line, len);
	p = take_stamp(f, p, end);
	at = take_fsid(f, p, end);
	named = at != NULL;
	at = glock_line(at ? at : p, end);
	/* without a glock before it, " H: " may be anything */
	if (!at || (*at != 'G' && f->in != forms_log)) {
		if (named && f->in == forms_log)
			return 1; /* another line of this file system */
		f->mono_us = mono;
		f->real_us = real;
		return 0;
	}
	return put_line(f, at, end) ? -ENOMEM : 1;
}
