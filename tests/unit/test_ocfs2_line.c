/* SPDX-License-Identifier: MIT */
/*
 * test_ocfs2_line.c - tests the lines of OCFS2's locking_state: versions, letters, refusals.
 */
#include "print_lines.h"
#include "unit.h"

#include <stdio.h>

#define HEAD(version, name) version "\t" name "\t5\t0x41\t0x1\t0x2\t7\t8\t3\t-1\t"
#define Z8 "0x0\t0x0\t0x0\t0x0\t0x0\t0x0\t0x0\t0x0\t"
#define ZERO Z8 Z8 Z8 Z8 Z8 Z8 Z8 Z8
#define COUNTS "11\t12\t13\t14\t15\t16\t17\t18\t19\t"
#define STAMPS "20\t21\t22\t"
#define NAME "M000000000000000000006400000000"
#define V4 HEAD("0x4", NAME) ZERO COUNTS STAMPS

static const char *parse(struct ocfs2_line *l, const char *text, size_t len, bool complete)
{
	char *copy = exact(text, len);
	const char *wrong;

	memset(l, 0xaa, sizeof(*l));
	wrong = ocfs2_line_parse(l, copy, len, complete);
	/* the tail points into the parsed line */
	if (!wrong && l->tail_len)
		l->tail = text + (l->tail - copy);
	free(copy);
	return wrong;
}

static void check_head(const struct ocfs2_line *l, uint32_t version)
{
	assert_int_equal(l->version, version);
	assert_string_equal(l->name, NAME);
	assert_int_equal(l->id.type, 'M');
	assert_int_equal(l->id.number, 0x64);
	assert_int_equal(l->id.low, 0);
	assert_int_equal(l->level, 5);
	assert_int_equal(l->flags, 0x41);
	assert_int_equal(l->action, 1);
	assert_int_equal(l->unlock_action, 2);
	assert_int_equal(l->holders[OCFS2_PR], 7);
	assert_int_equal(l->holders[OCFS2_EX], 8);
	assert_int_equal(l->requested, 3);
	assert_int_equal(l->blocking, -1);
}

static void check_counts(const struct ocfs2_line *l, bool there)
{
	uint64_t n = there ? 11 : 0, step = there;

	assert_int_equal(l->gets[OCFS2_PR], n);
	assert_int_equal(l->gets[OCFS2_EX], n + step);
	assert_int_equal(l->fails[OCFS2_PR], n + 2 * step);
	assert_int_equal(l->fails[OCFS2_EX], n + 3 * step);
	assert_int_equal(l->total_ns[OCFS2_PR], n + 4 * step);
	assert_int_equal(l->total_ns[OCFS2_EX], n + 5 * step);
	assert_int_equal(l->max[OCFS2_PR], n + 6 * step);
	assert_int_equal(l->max[OCFS2_EX], n + 7 * step);
	assert_int_equal(l->refreshes, n + 8 * step);
}

static void check_print(const struct ocfs2_line *l, const char *text)
{
	char buf[4096];
	size_t n = ocfs2_line_print(l, buf, sizeof(buf));

	assert_int_equal(n, strlen(text) + 1);
	assert_memory_equal(buf, text, n - 1);
	assert_int_equal(buf[n - 1], '\n');
	for (size_t size = 0; size <= n; size += size < n - 3 ? 37 : 1)
		assert_int_equal(ocfs2_line_print(l, buf, size ? size : 1), 0);
}

static void versions(void **state)
{
	static const struct {
		uint32_t version;
		const char *text, *tail;
	} lines[] = {
	    {1, HEAD("0x1", NAME) ZERO, ""},
	    {2, HEAD("0x2", NAME) ZERO COUNTS, ""},
	    {3, HEAD("0x3", NAME) ZERO COUNTS, ""},
	    {4, HEAD("0x4", NAME) ZERO COUNTS STAMPS, ""},
	    {5, HEAD("0x5", NAME) ZERO COUNTS STAMPS "23\tmore\t", "23\tmore\t"},
	    {0x10, HEAD("0x10", NAME) ZERO COUNTS STAMPS, ""},
	};
	struct ocfs2_line l;

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		assert_null(parse(&l, lines[i].text, strlen(lines[i].text), true));
		check_head(&l, lines[i].version);
		check_counts(&l, lines[i].version >= 2);
		assert_int_equal(l.last_us[OCFS2_PR], lines[i].version >= 4 ? 20 : 0);
		assert_int_equal(l.last_us[OCFS2_EX], lines[i].version >= 4 ? 21 : 0);
		assert_int_equal(l.wait_us, lines[i].version >= 4 ? 22 : 0);
		assert_int_equal(l.tail_len, strlen(lines[i].tail));
		if (l.tail_len)
			assert_memory_equal(l.tail, lines[i].tail, l.tail_len);
		check_print(&l, lines[i].text);
	}
}

static void letters(void **state)
{
	static const char types[] = "MWODFSRQYPTIZ";
	char text[2048];
	struct ocfs2_line l;

	(void)state;
	for (const char *type = types; *type; type++) {
		snprintf(text, sizeof(text),
			 HEAD("0x4", "%c0000000000000000007e08a4f86ba4") ZERO COUNTS STAMPS, *type);
		assert_null(parse(&l, text, strlen(text), true));
		assert_int_equal(l.id.type, *type);
		assert_int_equal(l.id.number, 0x7e08);
		assert_int_equal(l.id.low, 0xa4f86ba4);
		check_print(&l, text);
	}
}

static void names(void **state)
{
	static const struct {
		const char *text;
		bool good;
		struct ocfs2_name name;
	} names[] = {
	    {"N00000000000000050000c602", true, {'N', 5, 0xc602}},
	    {"N123456789abcdef0ffffffff", true, {'N', 0x123456789abcdef0, 0xffffffff}},
	    {"M000000ffffffffffffffffffffffff", true, {'M', 0xffffffffffffffff, 0xffffffff}},
	    {"W0000000000000000007e08A4F86BA4", true, {'W', 0x7e08, 0xa4f86ba4}},
	    {"R000000000000000000000000000000", true, {'R', 0, 0}},
	    {"", false, {0}},
	    {"M", false, {0}},
	    {"m000000000000000000006400000000", false, {0}},
	    {"0000000000000000000006400000000", false, {0}},
	    {"M00000000000000000000640000000", false, {0}},
	    {"M0000000000000000000064000000000", false, {0}},
	    {"M00000000000000000000640000000g", false, {0}},
	    {"M000001000000000000006400000000", false, {0}},
	    {"M000000 00000000000006400000000", false, {0}},
	    {"N00000000000000050000c60", false, {0}},
	    {"N00000000000000050000c6020", false, {0}},
	    {"N0000000000000000050000c602-+0x", false, {0}},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		size_t len = strlen(names[i].text);
		char *copy = exact(names[i].text, len);
		struct ocfs2_name name;

		assert_int_equal(ocfs2_name_parse(&name, copy, len), names[i].good);
		if (names[i].good) {
			assert_int_equal(name.type, names[i].name.type);
			assert_int_equal(name.number, names[i].name.number);
			assert_int_equal(name.low, names[i].name.low);
		}
		free(copy);
	}
}

/*
 * The kernel prints a byte from 0x80 on as 0xffffff80..0xffffffff if char has a sign, and else as
 * it is.
 */
static void value_block(void **state)
{
	static const char with[] =
	    HEAD("0x4", NAME) "0x5\t0x7f\t0xffffff80\t0xffffffff\t0x0\t0x0\t0x0\t0x0\t" Z8 Z8 Z8 Z8
		Z8 Z8 Z8 COUNTS STAMPS;
	static const char without[] = HEAD(
	    "0x4",
	    NAME) "0x5\t0x7f\t0x80\t0xff\t0x0\t0x0\t0x0\t0x0\t" Z8 Z8 Z8 Z8 Z8 Z8 Z8 COUNTS STAMPS;
	static const char *const wrong[] = {"0x100", "0xffffff7f", "0x1ffffff80",        "-1",
					    "ff",    "0x",         "0xffffffffffffffff", ""};
	static const uint8_t bytes[] = {5, 0x7f, 0x80, 0xff};
	struct ocfs2_line l;
	char text[2048];

	(void)state;
	assert_null(parse(&l, with, sizeof(with) - 1, true));
	assert_memory_equal(l.lvb, bytes, sizeof(bytes));
	assert_false(l.lvb_unsigned);
	check_print(&l, with);
	assert_null(parse(&l, without, sizeof(without) - 1, true));
	assert_memory_equal(l.lvb, bytes, sizeof(bytes));
	assert_true(l.lvb_unsigned);
	check_print(&l, without);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		snprintf(text, sizeof(text),
			 HEAD("0x4", NAME) "%s\t0x0\t0x0\t0x0\t0x0\t0x0\t0x0\t0x0\t" Z8 Z8 Z8 Z8 Z8
			     Z8 Z8 COUNTS STAMPS,
			 wrong[i]);
		assert_non_null(parse(&l, text, strlen(text), true));
	}
}

static void value_block_decoded(void **state)
{
	uint8_t lvb[OCFS2_LVB_LEN] = {5};
	struct ocfs2_lvb d;

	(void)state;
	/*
	 * size 0x0102030405060708 at 40, mode 0100644 (a file) at 48, generation 0xa4f86ba4 at 56
	 */
	memcpy(lvb + 40, "\1\2\3\4\5\6\7\10\x81\xa4", 10);
	memcpy(lvb + 56, "\xa4\xf8\x6b\xa4", 4);
	assert_true(ocfs2_lvb_decode(&d, lvb));
	assert_int_equal(d.size, 0x0102030405060708);
	assert_int_equal(d.mode, 0100644);
	assert_int_equal(d.generation, 0xa4f86ba4);
	lvb[0] = 0;
	assert_false(ocfs2_lvb_decode(&d, lvb));
	lvb[0] = 4;
	assert_false(ocfs2_lvb_decode(&d, lvb));
}

/*
 * Each beginning of a line is refused, with two exceptions:
 *
 * - without a newline: the beginning that ends in the TAB after the last field;
 * - with a newline: the beginnings that end within or after the last field, because a number's end
 *   cannot be seen.
 */
static void truncated(void **state)
{
	static const struct {
		const char *text;
		size_t last; /* the place where the last field begins */
	} lines[] = {
	    {HEAD("0x1", NAME) ZERO, sizeof(HEAD("0x1", NAME) ZERO) - sizeof("0x0\t")},
	    {HEAD("0x2", NAME) ZERO COUNTS, sizeof(HEAD("0x2", NAME) ZERO COUNTS) - sizeof("19\t")},
	    {V4, sizeof(V4) - sizeof("22\t")},
	};
	struct ocfs2_line l;

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		size_t len = strlen(lines[i].text);

		for (size_t n = 0; n < len; n++) {
			/* a field of version 1 is "0x0", and "0x" alone is no field */
			size_t digits = lines[i].text[lines[i].last + 1] == 'x' ? 2 : 0;

			assert_non_null(parse(&l, lines[i].text, n, false));
			if (n <= lines[i].last + digits)
				assert_non_null(parse(&l, lines[i].text, n, true));
			else
				assert_null(parse(&l, lines[i].text, n, true));
		}
		assert_null(parse(&l, lines[i].text, len, false));
		assert_null(parse(&l, lines[i].text, len, true));
	}
}

/* Each field in turn becomes text, empty, or an impossible number. */
static void text_for_a_number(void **state)
{
	static const char *const wrong[] = {"x",   "",    " 1",  "1 ", "+1",
					    "1.5", "1e3", "--1", "0x", "-"};
	struct ocfs2_line l;
	char text[2048];

	(void)state;
	for (int field = 1; field <= 86; field++)
		for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
			const char *p = V4;
			size_t at = 0;

			for (int f = 1; f < field; f++)
				p = strchr(p, '\t') + 1;
			at = (size_t)(p - V4);
			memcpy(text, V4, at);
			snprintf(text + at, sizeof(text) - at, "%s%s", wrong[i], strchr(p, '\t'));
			if (!parse(&l, text, strlen(text), true))
				fail_msg("field %d may be \"%s\"", field, wrong[i]);
		}
}

static void largest_numbers(void **state)
{
	static const char good[] =
	    "0xffff\t" NAME
	    "\t2147483647\t0xffffffffffffffff\t0xffffffffffffffff\t0x0\t4294967295\t4294967295\t"
	    "-2147483648\t-1\t" ZERO "4294967295\t4294967295\t4294967295\t4294967295\t1844674407370"
	    "9551615\t18446744073709551615\t"
	    "4294967295\t4294967295\t4294967295\t18446744073709551615\t18446744073709551615\t184467"
	    "44073709551615\t";
	static const char *const too_large[] = {
	    "0x10000",     "2147483648",           "0x10000000000000000",  "4294967296",
	    "-2147483649", "18446744073709551616", "99999999999999999999", "100000000000000000000"};
	static const int fields[] = {1, 3, 4, 7, 9, 79, 80, 86};
	struct ocfs2_line l;
	char text[2048];

	(void)state;
	assert_null(parse(&l, good, sizeof(good) - 1, true));
	assert_int_equal(l.level, INT32_MAX);
	assert_int_equal(l.requested, INT32_MIN);
	assert_int_equal(l.gets[OCFS2_EX], UINT32_MAX);
	assert_true(l.total_ns[OCFS2_EX] == UINT64_MAX && l.wait_us == UINT64_MAX);
	check_print(&l, good);
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		const char *p = good;

		for (int f = 1; f < fields[i]; f++)
			p = strchr(p, '\t') + 1;
		memcpy(text, good, (size_t)(p - good));
		snprintf(text + (p - good), sizeof(text) - (size_t)(p - good), "%s%s", too_large[i],
			 strchr(p, '\t'));
		assert_non_null(parse(&l, text, strlen(text), true));
	}
}

static void more_fields_than_its_version(void **state)
{
	struct ocfs2_line l;

	(void)state;
	assert_non_null(
	    parse(&l, HEAD("0x1", NAME) ZERO "1\t", strlen(HEAD("0x1", NAME) ZERO "1\t"), true));
	assert_non_null(parse(&l, HEAD("0x3", NAME) ZERO COUNTS "1\t",
			      strlen(HEAD("0x3", NAME) ZERO COUNTS "1\t"), true));
	assert_non_null(parse(&l, V4 "1\t", strlen(V4 "1\t"), true));
	assert_non_null(parse(&l, HEAD("0x0", NAME) ZERO, strlen(HEAD("0x0", NAME) ZERO), true));
	assert_non_null(parse(&l, "", 0, true));
	assert_non_null(parse(&l, "", 0, false));
	assert_non_null(parse(&l, "\t", 1, false));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(versions),
	    cmocka_unit_test(letters),
	    cmocka_unit_test(names),
	    cmocka_unit_test(value_block),
	    cmocka_unit_test(value_block_decoded),
	    cmocka_unit_test(truncated),
	    cmocka_unit_test(text_for_a_number),
	    cmocka_unit_test(largest_numbers),
	    cmocka_unit_test(more_fields_than_its_version),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
