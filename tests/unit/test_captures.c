/* SPDX-License-Identifier: MIT */
/*
 * test_captures.c - tests that every captured line, parsed and printed, gives the same bytes.
 *
 * Lines that o2top reads over (R:, L:, B: of glocks, lvb of the DLM, other events of the trace) are
 * counted apart. The recordings lie unpacked in $O2TOP_CAPTURES, or else in tests/data/captures. A
 * trace may be packed with xz.
 */
#include "o2top/collect/input.h"
#include "print_lines.h"
#include "unit.h"

#include <ftw.h>
#include <stdio.h>
#include <unistd.h>

enum format { STATE, GLOCK, HOLDER, INODE, STATS, SBSTATS, RSB, LKB, LOCK_TIME, FORMATS };

static const char *const names[FORMATS] = {"locking_state", "G:",  "H:",  "I:",       "glstats",
					   "sbstats",       "rsb", "lkb", "lock_time"};
static size_t compared[FORMATS], files[FORMATS], skipped, traces_packed;

static bool starts(const char *line, size_t len, const char *with)
{
	return len >= strlen(with) && memcmp(line, with, strlen(with)) == 0;
}

/* Prints the line again, its length in *n. Returns NULL if the line was parsed, or the error. */
static const char *again(enum format format, const char *line, size_t len, bool complete, char *buf,
			 size_t size, size_t *n)
{
	static union {
		struct ocfs2_line state;
		struct gfs2_glock_line glock;
		struct gfs2_holder_line holder;
		struct gfs2_inode_line inode;
		struct gfs2_stats_line stats;
		struct gfs2_sbstats_line sbstats;
		struct dlm_rsb_line rsb;
		struct dlm_lkb_line lkb;
		struct gfs2_lock_time event;
	} l;
	const char *wrong = NULL, *event;

#define CASE(name, member, parse, print)                      \
	case name:                                            \
		wrong = parse(&l.member, line, len);          \
		*n = wrong ? 0 : print(&l.member, buf, size); \
		return wrong
	switch (format) {
	case STATE:
		wrong = ocfs2_line_parse(&l.state, line, len, complete);
		*n = wrong ? 0 : ocfs2_line_print(&l.state, buf, size);
		return wrong;
		CASE(GLOCK, glock, gfs2_glock_parse, gfs2_glock_print);
		CASE(HOLDER, holder, gfs2_holder_parse, gfs2_holder_print);
		CASE(INODE, inode, gfs2_inode_parse, gfs2_inode_print);
		CASE(STATS, stats, gfs2_stats_parse, gfs2_stats_print);
		CASE(SBSTATS, sbstats, gfs2_sbstats_parse, gfs2_sbstats_print);
		CASE(RSB, rsb, dlm_rsb_parse, dlm_rsb_print);
		CASE(LKB, lkb, dlm_lkb_parse, dlm_lkb_print);
	default:
		event = memmem(line, len, "gfs2_glock_lock_time: ", 22);
		if (!gfs2_lock_time_parse(&l.event, line, len, &wrong) || wrong)
			return wrong;
		/* the printer of events does not print the text before the event */
		memcpy(buf, line, (size_t)(event - line));
		*n = gfs2_lock_time_print(&l.event, buf + (event - line),
					  size - (size_t)(event - line));
		*n += *n ? (size_t)(event - line) : 0;
		return NULL;
	}
#undef CASE
}

static enum format format_in_glocks(const char *line, size_t len)
{
	return starts(line, len, "G:")    ? GLOCK
	       : starts(line, len, " H:") ? HOLDER
	       : starts(line, len, " I:") ? INODE
					  : FORMATS;
}

static enum format format_in_dlm(const char *line, size_t len)
{
	if (dlm_is_heading(line, len))
		return FORMATS;
	return starts(line, len, "rsb ") ? RSB : starts(line, len, "lkb ") ? LKB : FORMATS;
}

static enum format format_in_trace(const char *line, size_t len)
{
	return memmem(line, len, "gfs2_glock_lock_time: ", 22) ? LOCK_TIME : FORMATS;
}

struct reading {
	const char *path;
	enum format format;                           /* of all lines, or FORMATS */
	enum format (*of_line)(const char *, size_t); /* if FORMATS */
};

static bool compare(void *arg, const char *line, size_t len, size_t number, bool complete)
{
	static char buf[1 << 16];
	const struct reading *r = arg;
	enum format format = r->of_line ? r->of_line(line, len) : r->format;
	const char *wrong;
	size_t n = 0;

	if (format == FORMATS) {
		skipped++;
		return true;
	}
	wrong = again(format, line, len, complete, buf, sizeof(buf), &n);
	if (wrong)
		fail_msg("%s:%zu: %s", r->path, number, wrong);
	if (n != len + 1 || memcmp(buf, line, len) || buf[len] != '\n' || !complete)
		fail_msg("%s:%zu: printed as %.*s", r->path, number, (int)n, buf);
	compared[format]++;
	return true;
}

static bool which(const char *path, struct reading *r)
{
	static const struct {
		const char *name;
		enum format format;
		enum format (*of_line)(const char *, size_t);
	} kinds[] = {{"locking_state", STATE, NULL},
		     {"glocks", GLOCK, format_in_glocks},
		     {"glstats", STATS, NULL},
		     {"sbstats", SBSTATS, NULL},
		     {"trace", LOCK_TIME, format_in_trace}};
	const char *base = strrchr(path, '/') + 1;
	size_t len = strlen(base);

	/* o2dlm's locking_state has another format */
	if (strstr(path, "/o2dlm/"))
		return false;
	*r = (struct reading){.path = path, .format = RSB, .of_line = format_in_dlm};
	if (strstr(path, "/dlm/"))
		return len > 4 && strcmp(base + len - 4, "_all") == 0;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (starts(base, len, kinds[i].name) &&
		    (!base[strlen(kinds[i].name)] ||
		     !strcmp(base + strlen(kinds[i].name), ".before") ||
		     !strcmp(base + strlen(kinds[i].name), ".after"))) {
			r->format = kinds[i].format;
			r->of_line = kinds[i].of_line;
			return true;
		}
	return false;
}

/* Compares a packed trace that has no unpacked one beside it. */
static void compare_packed(const char *path)
{
	struct reading r = {path, LOCK_TIME, format_in_trace};
	char command[1200], *line = NULL;
	size_t room = 0, number = 0;
	ssize_t len;
	FILE *f;

	snprintf(command, sizeof(command), "%.*s", (int)strlen(path) - 3, path);
	if (access(command, R_OK) == 0)
		return;
	snprintf(command, sizeof(command), "xz -dc '%s'", path);
	f = popen(command, "r");
	assert_non_null(f);
	while ((len = getline(&line, &room, f)) > 0)
		compare(&r, line, (size_t)len - 1, ++number, line[len - 1] == '\n');
	free(line);
	assert_int_equal(pclose(f), 0);
	files[LOCK_TIME]++;
	traces_packed++;
}

static int visit(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	struct reading r;
	struct input in;
	size_t len = strlen(path);

	(void)st;
	(void)ftw;
	/* The recordings in field/ have forms that other tools wrote. */
	if (type != FTW_F || strstr(path, "/field/"))
		return 0;
	if (len > 9 && strcmp(path + len - 9, "/trace.xz") == 0) {
		compare_packed(path);
	} else if (which(path, &r)) {
		assert_int_equal(input_open_path(&in, path, path), 0);
		assert_int_equal(input_lines(&in, compare, &r), 0);
		files[r.format]++;
	}
	return 0;
}

static void every_captured_line(void **state)
{
	const char *folder = getenv("O2TOP_CAPTURES");

	(void)state;
	if (!folder)
		folder = "tests/data/captures";
	if (nftw(folder, visit, 32, FTW_PHYS))
		fail_msg("no recordings in %s: set O2TOP_CAPTURES to the folder that they are "
			 "unpacked in",
			 folder);
	for (int i = 0; i < FORMATS; i++) {
		print_message("# %zu lines of %s\n", compared[i], names[i]);
		if (!compared[i])
			fail_msg("no line of %s in %s", names[i], folder);
	}
	print_message("# %zu lines read over\n", skipped);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(every_captured_line)};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
