/* SPDX-License-Identifier: MIT */
/*
 * check.h - limits on a frame, for monitoring systems that run plugins.
 */
#ifndef O2TOP_CHECK_H
#define O2TOP_CHECK_H

#include "o2top/rank/rank.h"
#include "view.h"

enum limit { LIMIT_LOST, LIMIT_OLDEST, LIMIT_SILENT, LIMITS };

/* A value that reaches its limit is a warning, or critical. No value reaches INFINITY. */
struct limits {
	double at[LIMITS];
};

/* Limits of one file system. NAN: the general limit holds. */
struct fs_limits {
	const char *fs; /* as --fs takes it */
	struct limits warn, crit;
};

enum { CHECK_FS_MAX = 64 };

/*
 * A file system with limits of its own is judged alone. The general limits judge the sum of the
 * others.
 */
struct check_rules {
	struct limits warn, crit;
	struct fs_limits fs[CHECK_FS_MAX];
	size_t n_fs;
};

extern const struct check_rules check_defaults;

/*
 * Takes limits: "[FS:]LIMITS". "2" limits both the seconds lost per second and the age of the
 * oldest wait in seconds. "lost=1,oldest=5,silent=2" limits each by name. A limit that is not given
 * keeps its value. The last colon ends FS. The text is cut there and stays in use. Returns NULL, or
 * the part of the text that is not a limit.
 */
const char *check_take_limits(struct check_rules *rules, bool crit, char *text);
/* Returns the first FS of the rules that is no lock space and no kind of file system, or NULL. */
const char *check_unknown_fs(const struct check_rules *rules, const struct model *m);

enum check_status {
	CHECK_OK,
	CHECK_WARNING,
	CHECK_CRITICAL,
	CHECK_UNKNOWN,
	CHECK_NONE, /* no line was written */
};

/*
 * Judges the rows of the frame, which are those that the filter chose. Writes the line. Returns the
 * status, CHECK_NONE if the line could not be written. The status is unknown, and not OK, if a wait
 * may be longer than its limit for all that the input proves.
 */
enum check_status view_check(FILE *out, const struct frame *f, const struct check_rules *rules,
			     const struct filter *filter);

#endif
