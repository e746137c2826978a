/* SPDX-License-Identifier: MIT */
/*
 * test_dump.c - tests the text of glocks, glstats and sbstats against recorded lines.
 *
 * The test takes apart each G and H line, each glstats line and each sbstats file of the
 * recordings. The library must print each again, byte for byte. No recording has the format of 7.0,
 * so its lines are written out.
 */
#include "glock/base/mode.h"
#include "glock/stats/dump.h"

#include "capture.h"
#include "check.h"
#include "glock.h"

static char buf[1024];

static struct glock__text text(void)
{
	return (struct glock__text){.buf = buf, .size = sizeof(buf)};
}

static unsigned int mode_of(const char *name)
{
	for (unsigned int m = 0; m < GLOCK_MODE_MAX; m++)
		if (!strcmp(glock__modes[m].name, name))
			return m;
	return GLOCK_MODE_MAX;
}

/* The letters of 6.1 and their bits, from that kernel's documentation, not from the library. */
static uint32_t glock_flags(const char *letters)
{
	static const char all[] = "lDdpyfirIFqLobPxnN";
	static const uint32_t bits[] = {GLOCK__F_LOCK,
					GLOCK__F_DEMOTE,
					GLOCK__F_PENDING_DEMOTE,
					GLOCK__F_DEMOTE_IN_PROGRESS,
					GLOCK__F_DIRTY,
					GLOCK__F_LFLUSH,
					GLOCK__F_INVALIDATING,
					GLOCK__F_HAVE_REPLY,
					GLOCK__F_INITIAL,
					GLOCK__F_FROZEN,
					GLOCK__F_QUEUED,
					GLOCK__F_LRU,
					GLOCK__F_OBJECT,
					GLOCK__F_BLOCKING,
					GLOCK__F_PENDING_DELETE,
					GLOCK__F_FREEING,
					GLOCK__F_INSTANTIATE_NEEDED,
					GLOCK__F_INSTANTIATING};
	uint32_t flags = GLOCK__F_INITIAL;

	for (; *letters; letters++) {
		assert_non_null(strchr(all, *letters));
		flags ^= bits[strchr(all, *letters) - all];
	}
	return flags;
}

static uint32_t holder_flags(const char *letters)
{
	static const char all[] = "tTeApnaEcHWs";
	static const uint32_t bits[] = {GLOCK_TRY,       GLOCK_TRY_1CB,  GLOCK_RECOVER,
					GLOCK_ANY,       GLOCK_PRIORITY, GLOCK_NODE_SCOPE,
					GLOCK_ASYNC,     GLOCK_EXACT,    GLOCK_NOCACHE,
					GLOCK__H_HOLDER, GLOCK__H_WAIT,  GLOCK_SKIP};
	uint32_t flags = 0;

	for (; *letters; letters++) {
		assert_non_null(strchr(all, *letters));
		flags |= bits[strchr(all, *letters) - all];
	}
	return flags;
}

/* Cuts "x:VALUE " out of a line; VALUE may be empty. */
static const char *field(char **at, const char *name)
{
	char *value = strstr(*at, name), *end;

	assert_non_null(value);
	value += strlen(name);
	end = value + strcspn(value, " ");
	*at = *end ? end + 1 : end;
	*end = '\0';
	return value;
}

static void again_glock(char *line)
{
	struct glock__dump_glock gl = {0};
	struct glock__text t = text();
	unsigned long number, us;
	char demote[3];

	gl.state = mode_of(field(&line, "s:"));
	assert_int_equal(sscanf(field(&line, "n:"), "%u/%lx", &gl.type, &number), 2);
	gl.number = number;
	gl.flags = glock_flags(field(&line, "f:"));
	gl.target = mode_of(field(&line, "t:"));
	assert_int_equal(sscanf(field(&line, "d:"), "%2s/%lu", demote, &us), 2);
	gl.demote = mode_of(demote);
	gl.demote_us = us;
	assert_int_equal(sscanf(line, "a:%d v:%d r:%d m:%ld p:%lu", &gl.ail, &gl.revokes, &gl.refs,
				&gl.hold, &gl.pages),
			 5);
	glock__dump_glock(&t, GLOCK__LINUX_6_1, &gl);
}

static void again_holder(char *line)
{
	struct glock__dump_holder gh = {0};
	struct glock__text t = text();
	char comm[32], where[128];

	gh.mode = mode_of(field(&line, "s:"));
	gh.flags = holder_flags(field(&line, "f:"));
	assert_int_equal(
	    sscanf(line, "e:%d p:%ld [%31[^]]] %127[^\n]", &gh.error, &gh.pid, comm, where), 4);
	gh.comm = comm;
	gh.where = where;
	glock__dump_holder(&t, GLOCK__LINUX_6_1, &gh);
}

static void again_glstats(const char *line)
{
	struct glock__stats s;
	struct glock__text t = text();
	unsigned int type;
	unsigned long number;

	assert_int_equal(sscanf(line,
				"G: n:%u/%lx rtt:%ld/%ld rttb:%ld/%ld irt:%ld/%ld dcnt: %ld"
				" qcnt: %ld",
				&type, &number, &s.v[0], &s.v[1], &s.v[2], &s.v[3], &s.v[4],
				&s.v[5], &s.v[6], &s.v[7]),
			 10);
	glock__dump_glstats(&t, type, number, &s);
}

static unsigned int files, lines;

static void compare(const char *line)
{
	lines++;
	buf[strcspn(buf, "\n")] = '\0';
	assert_string_equal(buf, line);
}

static void glocks_file(const char *path, char *all)
{
	char copy[1024];

	(void)path;
	files++;
	for (char *l; (l = capture_line(&all));) {
		snprintf(copy, sizeof(copy), "%s", l);
		if (!strncmp(l, "G:  ", 4))
			again_glock(copy + 4);
		else if (!strncmp(l, " H: ", 4))
			again_holder(copy + 4);
		else
			continue;
		compare(l);
	}
}

static void glstats_file(const char *path, char *all)
{
	(void)path;
	files++;
	for (char *l; (l = capture_line(&all));) {
		again_glstats(l);
		compare(l);
	}
}

/* Reads the file's numbers into records, line by line. The library must print the whole file. */
static void sbstats_file(const char *path, char *all)
{
	struct glock__type_stats ts;
	struct glock__stats s[GLOCK_TYPE_OWN];
	char *at = all, *rest;
	unsigned int n = 0;

	(void)path;
	files++;
	assert_int_equal(glock__type_stats_init(&ts, GLOCK_TYPE_OWN, 1, NULL, NULL), 0);
	for (int i = 0; i < GLOCK_TYPE_OWN * GLOCK__STAT_MAX; i++) {
		at = strchr(at, '\n');
		assert_non_null(at);
		s[i / GLOCK__STAT_MAX].v[i % GLOCK__STAT_MAX] =
		    strtoll(strchr(++at, ':') + 1, NULL, 10);
	}
	for (unsigned int t = 0; t < GLOCK_TYPE_OWN; t++)
		glock__type_stats_write(&ts, t, 0, &s[t]);
	for (rest = all;; n++) {
		struct glock__text t = text();

		if (!glock__dump_sbstats(&t, &ts, n))
			break;
		compare(capture_line(&rest));
	}
	assert_int_equal(n, 81);
	assert_string_equal(rest, "");
	glock__type_stats_free(&ts);
}

static void every(const char *name, void (*fn)(const char *path, char *text), unsigned int least)
{
	static const char *const recordings[] = {"gfs2-hot", "gfs2-hang"};

	files = lines = 0;
	for (size_t i = 0; i < ARRAY_SIZE(recordings); i++)
		capture_each(capture_dir(recordings[i]), name, fn);
	print_message("# %s: %u lines of %u files\n", name, lines, files);
	assert_true(lines >= least);
}

/* Promises: glock_dump: "Prints a file". */
static void dump_glocks_as_the_kernel(void **state)
{
	(void)state;
	every("glocks", glocks_file, 1000);
}

static void dump_glstats_as_the_kernel(void **state)
{
	(void)state;
	every("glstats", glstats_file, 1000);
}

static void dump_sbstats_as_the_kernel(void **state)
{
	(void)state;
	every("sbstats", sbstats_file, 81 * 15);
}

static void dump_linux_7_0(void **state)
{
	struct glock__dump_glock gl = {.state = GLOCK_SH,
				       .target = GLOCK_SH,
				       .demote = GLOCK_EX,
				       .type = GLOCK_IOPEN,
				       .number = 0x75320,
				       .flags = GLOCK__F_QUEUED | GLOCK__F_OBJECT,
				       .refs = 2,
				       .hold = 200};
	const struct glock__dump_holder gh = {.mode = GLOCK_SH,
					      .flags = GLOCK_EXACT | GLOCK_NOPID | GLOCK_PRIORITY |
						       GLOCK__H_HOLDER,
					      .comm = "(none)",
					      .where = "gfs2_inode_lookup+0x1a0/0x3f0 [gfs2]"};
	struct glock__text t = text();

	(void)state;
	glock__dump_glock(&t, GLOCK__LINUX_7_0, &gl);
	assert_string_equal(buf, "G:  s:SH n:5/75320 f:qo t:SH d:EX/0 a:0 v:0 r:2 m:200 p:0\n");
	t = text();
	glock__dump_holder(&t, GLOCK__LINUX_7_0, &gh);
	assert_string_equal(
	    buf, " H: s:SH f:EH e:0 p:0 [(none)] gfs2_inode_lookup+0x1a0/0x3f0 [gfs2]\n");
	gl = (struct glock__dump_glock){.target = GLOCK_EX,
					.demote = GLOCK_EX,
					.type = GLOCK_INODE,
					.number = 0x75320,
					.flags = GLOCK__F_LOCK | GLOCK__F_MAY_CANCEL |
						 GLOCK__F_QUEUED | GLOCK__F_OBJECT |
						 GLOCK__F_BLOCKING | GLOCK__F_INSTANTIATE_NEEDED,
					.refs = 3,
					.hold = 200};
	t = text();
	glock__dump_glock(&t, GLOCK__LINUX_7_0, &gl);
	assert_string_equal(buf, "G:  s:UN n:2/75320 f:lcqobn t:EX d:EX/0 a:0 v:0 r:3 m:200 p:0\n");
}

static void dump_letters_in_order(void **state)
{
	char out[GLOCK__LETTERS];

	(void)state;
	glock__flag_letters(out, GLOCK__LINUX_7_0, ~0u);
	assert_string_equal(out, "lDdpyfcraFqLobnNeEsC");
	glock__flag_letters_traced(out, GLOCK__LINUX_7_0, ~0u);
	assert_string_equal(out, "lDdpyfcraFLobnNeEsC");
	/* R is a request without a reply, so R and r exclude each other */
	glock__flag_letters(out, GLOCK__LINUX_6_18, ~0u);
	assert_string_equal(out, "lDdpyfraFqLobnNeEsC");
	glock__flag_letters(out, GLOCK__LINUX_6_18,
			    ~(uint32_t)(GLOCK__F_HAVE_REPLY | GLOCK__F_FROZEN));
	assert_string_equal(out, "lDdpyfRaqLobnNeEsC");
	glock__flag_letters_traced(out, GLOCK__LINUX_6_18,
				   GLOCK__F_LOCK | GLOCK__F_MAY_CANCEL | GLOCK__F_QUEUED);
	assert_string_equal(out, "lR");
	glock__flag_letters(out, GLOCK__LINUX_6_1, ~(uint32_t)GLOCK__F_INITIAL);
	assert_string_equal(out, "lDdpyfirIFqLobPxnN");
	glock__flag_letters_traced(out, GLOCK__LINUX_6_1, ~(uint32_t)GLOCK__F_INITIAL);
	assert_string_equal(out, "lDdpyfirIFLob0x61004");
	/* I: from the first grant on. 7.0 prints a until then */
	glock__flag_letters(out, GLOCK__LINUX_6_1, GLOCK__F_INITIAL);
	assert_string_equal(out, "");
	glock__flag_letters(out, GLOCK__LINUX_6_1, 0);
	assert_string_equal(out, "I");
	glock__flag_letters(out, GLOCK__LINUX_7_0, GLOCK__F_INITIAL);
	assert_string_equal(out, "a");
	glock__holder_letters(out, GLOCK__LINUX_6_1, ~0u);
	assert_string_equal(out, "tTeApnaEcHWs");
	glock__holder_letters(out, GLOCK__LINUX_7_0, ~0u);
	assert_string_equal(out, "tTeAnaEcHWs");
	glock__holder_letters(out, GLOCK__LINUX_6_18, ~0u);
	assert_string_equal(out, "tTeAnaEcHWs");
}

/* The time since the request of a demote shows only while the demote is due. 'd' alone shows 0. */
static void dump_demote_time(void **state)
{
	struct glock__dump_glock gl = {.state = GLOCK_EX,
				       .target = GLOCK_EX,
				       .demote = GLOCK_UN,
				       .type = 2,
				       .number = 1,
				       .demote_us = 4000,
				       .flags = GLOCK__F_PENDING_DEMOTE};
	struct glock__text t = text();

	(void)state;
	glock__dump_glock(&t, GLOCK__LINUX_6_1, &gl);
	assert_string_equal(buf, "G:  s:EX n:2/1 f:dI t:EX d:UN/0 a:0 v:0 r:0 m:0 p:0\n");
	gl.flags = GLOCK__F_DEMOTE;
	t = text();
	glock__dump_glock(&t, GLOCK__LINUX_6_1, &gl);
	assert_string_equal(buf, "G:  s:EX n:2/1 f:DI t:EX d:UN/4000 a:0 v:0 r:0 m:0 p:0\n");
}

static void dump_sbstats_column_a_cpu(void **state)
{
	struct glock__type_stats ts;
	struct glock__text t = text();
	struct glock__stats s = {{0}};

	(void)state;
	assert_int_equal(glock__type_stats_init(&ts, GLOCK_TYPE_OWN, 2, NULL, NULL), 0);
	s.v[GLOCK__SRTT] = 48211;
	glock__type_stats_write(&ts, GLOCK_INODE, 0, &s);
	s.v[GLOCK__SRTT] = 50377;
	glock__type_stats_write(&ts, GLOCK_INODE, 1, &s);
	assert_true(glock__dump_sbstats(&t, &ts, 0));
	assert_true(glock__dump_sbstats(&t, &ts, 1 + 2 * GLOCK__STAT_MAX));
	assert_string_equal(buf, "type            cpu:               0               1\n"
				 "inode          srtt:           48211           50377\n");
	glock__type_stats_free(&ts);
}

static void dump_counts_on_when_full(void **state)
{
	char small[8];
	struct glock__text t = {.buf = small, .size = sizeof(small)};

	(void)state;
	glock__text_print(&t, "%s", "12345");
	glock__text_print(&t, "%s", "6789");
	glock__text_print(&t, "%s", "abc");
	assert_int_equal(t.len, 12);
	assert_string_equal(small, "1234567");
	t = (struct glock__text){0};
	glock__text_print(&t, "%s", "12345");
	assert_int_equal(t.len, 5);
}

static void dump_hold_in_jiffies(void **state)
{
	(void)state;
	assert_int_equal(glock__jiffies(200000000, 1000), 200);
	assert_int_equal(glock__jiffies(200000000, 250), 50);
	assert_int_equal(glock__jiffies(200000000, 100), 20);
	assert_int_equal(glock__jiffies(9999999, 100), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(dump_glocks_as_the_kernel),
	    cmocka_unit_test(dump_glstats_as_the_kernel),
	    cmocka_unit_test(dump_sbstats_as_the_kernel),
	    cmocka_unit_test(dump_linux_7_0),
	    cmocka_unit_test(dump_letters_in_order),
	    cmocka_unit_test(dump_demote_time),
	    cmocka_unit_test(dump_sbstats_column_a_cpu),
	    cmocka_unit_test(dump_counts_on_when_full),
	    cmocka_unit_test(dump_hold_in_jiffies),
	};

	return RUN_TESTS(tests);
}
