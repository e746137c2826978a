/* SPDX-License-Identifier: MIT */
/*
 * trace.c - events of GFS2 in the output of trace-cmd report and perf script, as a trace.
 *
 *	kworker/0:2H-383 [000] 329.869330: gfs2_glock_lock_time: 254,0 glock 2:9291 ...
 *	kworker/0:2H   383 [000]   329.869330: gfs2:gfs2_glock_lock_time: 254,0 glock 2:9291 ...
 */
#include "forms.h"

#include <errno.h>
#include <string.h>

static const char *const events[] = {"gfs2_glock_lock_time:", "gfs2_demote_rq:"};

/* Returns where the time stamp before p begins: "329.869330: ". NULL if there is none. */
static const char *stamp_before(const char *line, const char *p)
{
	const char *from;
	bool dot = false;

	while (p > line && p[-1] == ' ')
		p--;
	if (p == line || p[-1] != ':')
		return NULL;
	for (from = p - 1; from > line && ((from[-1] >= '0' && from[-1] <= '9') || from[-1] == '.');
	     from--)
		dot |= from[-1] == '.';
	return dot ? from : NULL;
}

int forms_trace(struct forms *f, const char *line, size_t len)
{
	const char *end = line + len;

	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++) {
		const char *rest = forms_after(line, len, events[i]), *name, *stamp, *stop;

		if (!rest || len > 1024)
			continue;
		name = rest - strlen(events[i]);
		if (name - line > 5 && memcmp(name - 5, "gfs2:", 5) == 0)
			name -= 5;
		stamp = stamp_before(line, name);
		while (rest < end && *rest == ' ')
			rest++;
		stop = stamp ? memchr(stamp, ':', (size_t)(name - stamp)) : NULL;
		if (!stop)
			continue;
		return forms_print(f->file(f, FS_GFS2, "", FILE_TRACE),
				   " task-0 [000] ..... %.*s: %s %.*s\n", (int)(stop - stamp),
				   stamp, events[i], (int)(end - rest), rest)
			   ? -ENOMEM
			   : 1;
	}
	return 0;
}
