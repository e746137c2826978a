/* SPDX-License-Identifier: MIT */
/*
 * test_gfs2_line.c - tests the lines of GFS2's debugfs files and trace event: real and refused.
 */
#include "print_lines.h"
#include "unit.h"

#include <stdio.h>

/* A parser with a printer: prints the line into buf and returns NULL, or returns the error. */
typedef const char *again_fn(const char *line, size_t len, char *buf, size_t size);

#define AGAIN(name, type, parse, print)                                               \
	static const char *name(const char *line, size_t len, char *buf, size_t size) \
	{                                                                             \
		static struct type l;                                                 \
		char *copy = exact(line, len);                                        \
		const char *wrong = parse(&l, copy, len);                             \
                                                                                      \
		free(copy);                                                           \
		if (!wrong)                                                           \
			assert_true(print(&l, buf, size) > 0);                        \
		return wrong;                                                         \
	}

AGAIN(glock, gfs2_glock_line, gfs2_glock_parse, gfs2_glock_print)
AGAIN(holder, gfs2_holder_line, gfs2_holder_parse, gfs2_holder_print)
AGAIN(inode, gfs2_inode_line, gfs2_inode_parse, gfs2_inode_print)
AGAIN(stats, gfs2_stats_line, gfs2_stats_parse, gfs2_stats_print)
AGAIN(sbstats, gfs2_sbstats_line, gfs2_sbstats_parse, gfs2_sbstats_print)

static const char *lock_time(const char *line, size_t len, char *buf, size_t size)
{
	static struct gfs2_lock_time l;
	char *copy = exact(line, len);
	const char *wrong = NULL, *event = memmem(line, len, "gfs2_glock_lock_time: ", 22);
	bool is = gfs2_lock_time_parse(&l, copy, len, &wrong);
	size_t head = event ? (size_t)(event - line) : 0;

	free(copy);
	assert_int_equal(is, event != NULL);
	if (!is)
		return "no such event";
	if (!wrong) {
		memcpy(buf, line, head);
		assert_true(gfs2_lock_time_print(&l, buf + head, size - head) > 0);
	}
	return wrong;
}

static const struct {
	again_fn *again;
	const char *line;
} good[] = {
    /*
     * 6.1: I, v:, m: and p:; older ones without; 6.15 with a and others; no flags; a raw remainder
     */
    {glock, "G:  s:EX n:2/6259 f:Iqob t:EX d:EX/0 a:0 v:0 r:4 m:200 p:1"},
    {glock, "G:  s:UN n:2/26b3 f:lIqobn t:SH d:EX/0 a:0 v:0 r:6 m:50 p:0"},
    {glock, "G:  s:SH n:5/1d5a0 f:aLo t:SH d:UN/12345678 a:17 v:-1 r:0 m:0 p:18446744073709551615"},
    {glock, "G:  s:DF n:6/ffffffffffffffff f: t:DF d:SH/0 a:0 r:3"},
    {glock, "G:  s:SH n:3/12 f: t:UN d:EX/0 a:0 r:3 m:50"},
    {glock, "G:  s:?? n:4294967295/0 f:lDpILo0x4 t:?? d:EX/0 a:-5 v:9 r:2 p:7"},
    {holder, " H: s:SH f:AW e:0 p:1770 [hotload] inode_permission+0x13c/0x1d0"},
    {holder, " H: s:EX f:H e:0 p:0 [(none)] init_journal+0x205/0x630 [gfs2]"},
    {holder, " H: s:SH f:eEcH e:-13 p:1 [a b] c] [d]] gfs2_open+0x1/0x2 [gfs2]"},
    {holder, " H: s:DF f: e:13 p:4194304 [(ended)] 0xffffffffc0a1b2c3"},
    {holder, " H: s:SH f:W e:0 p:-1 [] x"},
    {inode, " I: n:22/9282 t:8 f:0x00 d:0x00000201 s:768 p:1"},
    {inode, " I: n:0/18446744073709551615 t:4 f:0xffff d:0x100000201 s:18446744073709551615"},
    {stats, "G: n:2/2445 rtt:19408/7188 rttb:1200545/1826172 irt:14184741610/16358131118 dcnt: 1 "
	    "qcnt: 220"},
    {stats, "G: n:9/0 rtt:0/0 rttb:0/18446744073709551615 irt:9223372036854775808/1 dcnt: "
	    "18446744073709551615 qcnt: 0"},
    {sbstats, "type            cpu:               0               1"},
    {sbstats, "type            cpu:               0"},
    {sbstats, "reserved       srtt:               0"},
    {sbstats, "inode      srttvarb:         1200545               0            4096"},
    {sbstats, "journal       queue: 18446744073709551615"},
    {sbstats, "nondisk         dlm:              12"},
    {lock_time,
     "  kworker/0:1H-77      [000] .....   329.334686: gfs2_glock_lock_time: 254,0 glock 2:9291 "
     "status:0 flags:00 "
     "tdiff:95503362 srtt:11294/15624 srttb:12687/10875 sirt:11861299/16344897 dcnt:1 qcnt:1"},
    {lock_time, "          <...>-1 [001] d..1. 0.000001: gfs2_glock_lock_time: 4095,1048575 glock "
		"5:18446744073709551615 status:-11 "
		"flags:02 tdiff:0 srtt:-1/2 srttb:3/-4 sirt:5/6 dcnt:7 qcnt:8"},
    {lock_time, "   my: comm] 5-12 [000] 99999999.999999: gfs2_glock_lock_time: 1,2 glock 1:3 "
		"status:-35 flags:104 tdiff:-7 "
		"srtt:0/0 srttb:0/0 sirt:0/0 dcnt:0 qcnt:0"},
    {lock_time, " a b-1 [000] .... 5.000000: gfs2_glock_lock_time: 1,2 glock 1:3 status:-65538 "
		"flags:00 tdiff:7 srtt:0/0 srttb:0/0 "
		"sirt:0/0 dcnt:0 qcnt:0"},
};
enum { N_GOOD = sizeof(good) / sizeof(good[0]) };

static void printed_again(void **state)
{
	char buf[2048];

	(void)state;
	for (int i = 0; i < N_GOOD; i++) {
		const char *wrong =
		    good[i].again(good[i].line, strlen(good[i].line), buf, sizeof(buf));

		if (wrong)
			fail_msg("%s: %s", good[i].line, wrong);
		assert_int_equal(buf[strlen(buf) - 1], '\n');
		buf[strlen(buf) - 1] = '\0';
		assert_string_equal(buf, good[i].line);
	}
}

/*
 * Makes one blank of each run of blanks, and removes those at the end. The columns of sbstats have
 * any width.
 */
static char *squeeze(char *text)
{
	char *to = text;

	for (char *p = text; *p; p++)
		if (*p != ' ' || (to > text && to[-1] != ' '))
			*to++ = *p;
	while (to > text && (to[-1] == '\n' || to[-1] == ' '))
		to--;
	*to = '\0';
	return text;
}

/*
 * Each beginning of a line is refused, or is a valid line. It is valid if the missing part belongs
 * to the last number or word, or to fields that some kernels omit. Then the line prints as it
 * stands. Behind a blank there may be a field of a later kernel.
 */
static void truncated(void **state)
{
	char text[2048], buf[2048];

	(void)state;
	for (int i = 0; i < N_GOOD; i++)
		for (size_t n = 0; n < strlen(good[i].line); n++) {
			size_t m;

			if (good[i].again(good[i].line, n, buf, sizeof(buf)))
				continue;
			snprintf(text, sizeof(text), "%.*s", (int)n, good[i].line);
			m = strlen(squeeze(buf));
			squeeze(text);
			if (strncmp(buf, text, m) || (text[m] != '\0' && text[m] != ' '))
				fail_msg("%s is taken as %s", text, buf);
		}
}

/*
 * Text replaces each number in turn. If the parser accepts it, the number stood in a word, such as
 * a command or a symbol. Then the line prints as it stands.
 */
static void text_for_a_number(void **state)
{
	static const char *const wrong[] = {"?", "", "+1", "1,5", "99999999999999999999999", "- 1"};
	char text[2048], buf[2048];

	(void)state;
	for (int i = 0; i < N_GOOD; i++) {
		const char *begin = good[i].again == lock_time
					? memmem(good[i].line, strlen(good[i].line), "time: ", 6)
					: good[i].line;
		size_t skip = (size_t)(begin - good[i].line);

		for (unsigned n = 0; n < 40; n++)
			for (size_t w = 0; w < sizeof(wrong) / sizeof(wrong[0]); w++) {
				memcpy(text, good[i].line, skip);
				if (replace_number(begin, n, wrong[w], text + skip,
						   sizeof(text) - skip) &&
				    !good[i].again(text, strlen(text), buf, sizeof(buf)) &&
				    strcmp(squeeze(buf), squeeze(text)))
					fail_msg("%s is taken as %s", text, buf);
			}
	}
}

static void glock_fields(void **state)
{
	static const char line[] =
	    "G:  s:SH n:5/1d5a0 f:aLo t:EX d:DF/12345678 a:17 v:-1 r:3 m:50 p:9";
	struct gfs2_glock_line l;

	(void)state;
	assert_null(gfs2_glock_parse(&l, line, sizeof(line) - 1));
	assert_int_equal(l.state, GFS2_SH);
	assert_int_equal(l.target, GFS2_EX);
	assert_int_equal(l.demote, GFS2_DF);
	assert_int_equal(l.type, GFS2_IOPEN);
	assert_int_equal(l.number, 0x1d5a0);
	assert_string_equal(l.flags, "aLo");
	assert_int_equal(l.demote_us, 12345678);
	assert_int_equal(l.ail, 17);
	assert_true(l.has_revokes && l.has_hold && l.has_pages);
	assert_int_equal(l.revokes, -1);
	assert_int_equal(l.refs, 3);
	assert_int_equal(l.hold_jiffies, 50);
	assert_int_equal(l.pages, 9);
}

static void holder_fields(void **state)
{
	static const char line[] =
	    " H: s:DF f:tTeAnaEcHWs e:-11 p:1770 [a] [b] kthread] do_it+0x1/0x2 [gfs2]";
	struct gfs2_holder_line l;

	(void)state;
	assert_null(gfs2_holder_parse(&l, line, sizeof(line) - 1));
	assert_int_equal(l.state, GFS2_DF);
	assert_string_equal(l.flags, "tTeAnaEcHWs");
	assert_true(l.holds && l.waits);
	assert_int_equal(l.error, -11);
	assert_int_equal(l.pid, 1770);
	assert_string_equal(l.comm, "a] [b] kthread");
	assert_string_equal(l.symbol, "do_it+0x1/0x2 [gfs2]");
}

static void inode_fields(void **state)
{
	static const char line[] = " I: n:22/9282 t:8 f:0x0f d:0x00000201 s:768 p:1";
	struct gfs2_inode_line l;

	(void)state;
	assert_null(gfs2_inode_parse(&l, line, sizeof(line) - 1));
	assert_int_equal(l.formal, 22);
	assert_int_equal(l.number, 9282);
	assert_int_equal(l.dtype, 8);
	assert_int_equal(l.flags, 0xf);
	assert_int_equal(l.disk_flags, 0x201);
	assert_true(l.disk_flags & GFS2_DIF_SYSTEM);
	assert_int_equal(l.size, 768);
	assert_true(l.has_size && l.has_pages && l.pages == 1);
}

/* trace-cmd pads the names of events. */
static void padded_event(void **state)
{
	static const char line[] =
	    "  kworker/0:2H-383   [000] 329.868310: gfs2_demote_rq:       254,0 "
	    "glock 2:9291 demote EX to NL flags:dIob remote";
	struct gfs2_event e;
	const char *wrong;

	(void)state;
	assert_true(gfs2_event_parse(&e, line, sizeof(line) - 1, &wrong));
	assert_null(wrong);
	assert_int_equal(e.kind, GFS2_EVENT_DEMAND);
	assert_int_equal(e.number, 9291);
	assert_true(e.dirty);
}

/* Linux 2.6.18 (RHEL 5) prints neither flags of the disk nor a size, and 2.6.32 (RHEL 6) two. */
static void inode_of_old_kernels(void **state)
{
	static const char rhel5[] = " I: n:48213/596607 t:8 f:0x10";
	static const char rhel6[] = " I: n:75661/219916 t:8 f:0x10 d:0x00000000 s:7522/7523";
	struct gfs2_inode_line l;

	(void)state;
	assert_null(gfs2_inode_parse(&l, rhel5, sizeof(rhel5) - 1));
	assert_int_equal(l.number, 596607);
	assert_int_equal(l.dtype, 8);
	assert_false(l.has_size || l.has_pages);
	assert_null(gfs2_inode_parse(&l, rhel6, sizeof(rhel6) - 1));
	assert_true(l.has_size && l.size == 7522);
	for (size_t n = 1; n < sizeof(rhel6) - sizeof("0 d:0x00000000 s:7522/7523"); n++)
		assert_non_null(gfs2_inode_parse(&l, rhel6, n));
	assert_non_null(gfs2_inode_parse(&l, rhel6, sizeof(rhel6) - 5));
	assert_non_null(gfs2_inode_parse(&l, " I: n:1/2 t:8 f:0x10 s:5", 24));
}

/* Variances can be negative, and the kernel prints them without a sign. */
static void stats_above_int64(void **state)
{
	static const char line[] =
	    "G: n:2/2445 rtt:1/2 rttb:18446744073709551615/9223372036854775808 irt:3/4 dcnt: 5 "
	    "qcnt: 6";
	struct gfs2_stats_line l;

	(void)state;
	assert_null(gfs2_stats_parse(&l, line, sizeof(line) - 1));
	assert_int_equal(l.type, 2);
	assert_int_equal(l.number, 0x2445);
	assert_int_equal(l.srtt, 1);
	assert_int_equal(l.srttvar, 2);
	assert_true(l.srttb == -1 && l.srttvarb == INT64_MIN);
	assert_int_equal(l.sirt, 3);
	assert_int_equal(l.sirtvar, 4);
	assert_int_equal(l.dcount, 5);
	assert_int_equal(l.qcount, 6);
}

static void sbstats_columns(void **state)
{
	static struct gfs2_sbstats_line l;
	char text[1100 * 17 + 32];
	size_t at;

	(void)state;
	assert_null(
	    gfs2_sbstats_parse(&l, "inode         srttb:         1200545               7", 52));
	assert_int_equal(l.type, GFS2_INODE);
	assert_int_equal(l.stat, GFS2_SRTTB);
	assert_int_equal(l.n_cpus, 2);
	assert_int_equal(l.value[0], 1200545);
	assert_int_equal(l.value[1], 7);
	assert_null(gfs2_sbstats_parse(&l, "type            cpu:", 20));
	assert_int_equal(l.type, GFS2_TYPE_MAX);
	assert_int_equal(l.n_cpus, 0);
	assert_non_null(gfs2_sbstats_parse(&l, "inodes        srttb: 1", 22));
	assert_non_null(gfs2_sbstats_parse(&l, "inode         srttc: 1", 22));
	assert_non_null(gfs2_sbstats_parse(&l, "inode         srttb 1", 21));
	assert_non_null(gfs2_sbstats_parse(&l, "", 0));
	/* as many CPUs as there is room for, and one more */
	at = (size_t)sprintf(text, "inode         srttb:");
	for (int i = 0; i < 1024; i++)
		at += (size_t)sprintf(text + at, " %15d", i);
	assert_null(gfs2_sbstats_parse(&l, text, at));
	assert_int_equal(l.n_cpus, 1024);
	assert_int_equal(l.value[1023], 1023);
	at += (size_t)sprintf(text + at, " %15d", 1);
	assert_non_null(gfs2_sbstats_parse(&l, text, at));
}

static void lock_time_fields(void **state)
{
	static const char line[] = "   a: b-1 [000] .....   329.334686: gfs2_glock_lock_time: "
				   "254,3 glock 2:9291 status:-65538 flags:1f "
				   "tdiff:95503362 srtt:1/2 srttb:3/4 sirt:5/6 dcnt:7 qcnt:8";
	struct gfs2_lock_time l;
	const char *wrong = "";

	(void)state;
	assert_true(gfs2_lock_time_parse(&l, line, sizeof(line) - 1, &wrong));
	assert_null(wrong);
	assert_int_equal(l.at_us, 329334686);
	assert_int_equal(l.major, 254);
	assert_int_equal(l.minor, 3);
	assert_int_equal(l.type, 2);
	assert_int_equal(l.number, 9291);
	assert_int_equal(l.status, -65538);
	assert_int_equal(l.lksb_flags, 0x1f);
	assert_int_equal(l.tdiff, 95503362);
	assert_true(l.srtt == 1 && l.srttvar == 2 && l.srttb == 3 && l.srttvarb == 4 &&
		    l.sirt == 5 && l.sirtvar == 6);
	assert_true(l.dcount == 7 && l.qcount == 8);
}

/* A later kernel may add fields between those that are known. */
static void fields_of_a_later_kernel(void **state)
{
	static const struct {
		again_fn *again;
		const char *line, *as;
	} later[] = {
	    {holder, " H: s:SH x:9 f:AW e:0 q:a/b p:1770 z:1 [hotload] gfs2_open+0x1c/0x40 [gfs2]",
	     " H: s:SH f:AW e:0 p:1770 [hotload] gfs2_open+0x1c/0x40 [gfs2]\n"},
	    {glock, "G:  s:EX n:2/6259 x:1 f:Iqob t:EX d:EX/0 y:2/3 a:0 v:0 r:4 m:200 p:1 w:7",
	     "G:  s:EX n:2/6259 f:Iqob t:EX d:EX/0 a:0 v:0 r:4 m:200 p:1\n"},
	    {stats, "G: n:2/2445 rtt:1/2 new:5 rttb:3/4 irt:5/6 art: 7 dcnt: 1 qcnt: 220 zcnt: 1",
	     "G: n:2/2445 rtt:1/2 rttb:3/4 irt:5/6 dcnt: 1 qcnt: 220\n"},
	};
	char buf[2048], as[2048];

	(void)state;
	for (size_t i = 0; i < sizeof(later) / sizeof(later[0]); i++) {
		const char *wrong =
		    later[i].again(later[i].line, strlen(later[i].line), buf, sizeof(buf));

		if (wrong)
			fail_msg("%s: %s", later[i].line, wrong);
		snprintf(as, sizeof(as), "%s", later[i].as);
		assert_string_equal(squeeze(buf), squeeze(as));
	}
}

static void refused(void **state)
{
	static const struct {
		again_fn *again;
		const char *line;
	} bad[] = {
	    {glock, "G: s:EX n:2/6259 f:Iqob t:EX d:EX/0 a:0 v:0 r:4 m:200 p:1"},
	    {glock, "G:  s:XX n:2/6259 f:Iqob t:EX d:EX/0 a:0 v:0 r:4 m:200 p:1"},
	    {glock, "G:  s:EX n:2/0x6259 f:Iqob t:EX d:EX/0 a:0 v:0 r:4 m:200 p:1"},
	    {glock, "G:  s:EX n:4294967296/6259 f:Iqob t:EX d:EX/0 a:0 v:0 r:4 m:200 p:1"},
	    {glock, "G:  s:EX n:2/10000000000000000 f:Iqob t:EX d:EX/0 a:0 v:0 r:4 m:200 p:1"},
	    {glock, "G:  s:EX n:2/6259 f:I-ob t:EX d:EX/0 a:0 v:0 r:4 m:200 p:1"},
	    {glock, "G:  s:EX n:2/6259 f:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa t:EX d:EX/0 a:0 "
		    "v:0 r:4 m:200 p:1"},
	    {glock, "G:  s:EX n:2/6259 f:Iqob t:EX d:EX/0 a:0 v:0 r:4 m:200 p:1x"},
	    {glock, "G:  s:EX n:2/6259 f:Iqob t:EX d:EX/0 a:9223372036854775808 v:0 r:4 m:200 p:1"},
	    {holder, " H: s:SH f:AW e:0 p:1770 hotload inode_permission+0x13c/0x1d0"},
	    {holder, " H: s:SH f:AW e:0 p:1770 [hotload]"},
	    {holder, " H: s:SH f:AW e:2147483648 p:1770 [hotload] a"},
	    {inode, " I: n:22 t:8 f:0x00 d:0x00000201 s:768 p:1"},
	    {inode, " I: n:22/9282 t:8 f:00 d:0x00000201 s:768 p:1"},
	    {stats, "G: n:2/2445 rtt:-1/7188 rttb:1/1 irt:1/1 dcnt: 1 qcnt: 220"},
	    {stats, "G: n:2/2445 rtt:1/7188 rttb:1/1 irt:1/1 dcnt:1 qcnt: 220"},
	    {stats, "G: n:2/2445 rtt:1/18446744073709551616 rttb:1/1 irt:1/1 dcnt: 1 qcnt: 220"},
	    {lock_time, "gfs2_glock_lock_time: 254,0 glock 2:1 status:0 flags:00 tdiff:1 srtt:0/0 "
			"srttb:0/0 sirt:0/0 dcnt:0 qcnt:0"},
	    {lock_time, " 1.00000: gfs2_glock_lock_time: 1,0 glock 2:1 status:0 flags:00 tdiff:1 "
			"srtt:0/0 srttb:0/0 sirt:0/0 dcnt:0 qcnt:0"},
	    {lock_time, " 1.000000: gfs2_glock_lock_time: 1,0 glock 2:1 status:0 flags:00 tdiff:1 "
			"srtt:0/0 srttb:0/0 sirt:0/0 dcnt:0 qcnt:0 x"},
	    {lock_time, " 1.000000: gfs2_glock_queue: 254,0 glock 2:9284 queue PR"},
	};
	char buf[2048];

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (!bad[i].again(bad[i].line, strlen(bad[i].line), buf, sizeof(buf)))
			fail_msg("taken: %s", bad[i].line);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(printed_again),
	    cmocka_unit_test(truncated),
	    cmocka_unit_test(text_for_a_number),
	    cmocka_unit_test(glock_fields),
	    cmocka_unit_test(holder_fields),
	    cmocka_unit_test(inode_fields),
	    cmocka_unit_test(inode_of_old_kernels),
	    cmocka_unit_test(padded_event),
	    cmocka_unit_test(stats_above_int64),
	    cmocka_unit_test(sbstats_columns),
	    cmocka_unit_test(lock_time_fields),
	    cmocka_unit_test(refused),
	    cmocka_unit_test(fields_of_a_later_kernel),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
