/* SPDX-License-Identifier: MIT */
/*
 * test_clean.c - tests unit_clean(), which makes foreign text fit for a terminal.
 */
#include "o2top/base/units.h"
#include "unit.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void assert_clean(const char *text, const char *want)
{
	char buf[256];

	unit_clean(buf, sizeof(buf), text, 0);
	assert_string_equal(buf, want);
}

static void what_is_fit_stays(void **state)
{
	(void)state;
	assert_clean("/db/journal.log", "/db/journal.log");
	assert_clean("/d\xc3\xa4ten/\xe6\x97\xa5\xe6\x9c\xac",
		     "/d\xc3\xa4ten/\xe6\x97\xa5\xe6\x9c\xac");
}

static void what_is_not_is_written_out(void **state)
{
	(void)state;
	assert_clean("a\x1b[2Jb", "a\\x1b[2Jb");
	assert_clean("a\nb", "a\\x0ab");
	assert_clean("\xe2\x80\xae", "\\xe2\\x80\\xae"); /* right-to-left override */
	assert_clean("\xff\xc3", "\\xff\\xc3");
}

/*
 * libc takes these six bytes for one character. The result shows no such character, and it stays
 * within the room.
 */
static void too_long_for_a_character(void **state)
{
	static const char six[] = "\xfd\xbd\xbd\xbd\xbd\xbd";
	char text[8 * 6 + 1] = "";

	(void)state;
	assert_clean(six, "\\xfd\\xbd\\xbd\\xbd\\xbd\\xbd");
	for (int i = 0; i < 8; i++)
		memcpy(text + 6 * i, six, 7);
	for (size_t size = 4; size < 220; size++) {
		char *buf = malloc(size + 64);

		assert_non_null(buf);
		memset(buf, '#', size + 64);
		unit_clean(buf, size, text, 0);
		assert_true(strlen(buf) < size);
		for (size_t i = size; i < size + 64; i++)
			assert_int_equal(buf[i], '#');
		free(buf);
	}
}

/* Programs read UTF-8, in a service without a locale as well. */
static void utf8_in_any_locale(void **state)
{
	static const char name[] = "/d\xc3\xa4ten/\xe6\x97\xa5\xff\x1b";
	char buf[256];

	(void)state;
	setlocale(LC_ALL, "C");
	unit_clean(buf, sizeof(buf), name, 0);
	assert_string_equal(buf, "/d\\xc3\\xa4ten/\\xe6\\x97\\xa5\\xff\\x1b");
	unit_clean_utf8(buf, sizeof(buf), name, 0);
	assert_string_equal(buf, "/d\xc3\xa4ten/\xe6\x97\xa5\\xff\\x1b");
	setlocale(LC_ALL, "C.UTF-8");
	unit_clean_utf8(buf, sizeof(buf), name, 0);
	assert_string_equal(buf, "/d\xc3\xa4ten/\xe6\x97\xa5\\xff\\x1b");
}

/* Checks the lines of a folded text, which are divided by '|' here. */
static void check_folded(const char *text, int width, bool cut, const char *expected)
{
	char lines[256] = "";

	for (size_t n; *text; text += n, text += *text == ' ') {
		n = unit_fold(text, width, cut);
		assert_true(n > 0);
		snprintf(lines + strlen(lines), sizeof(lines) - strlen(lines), "%s%.*s",
			 *lines ? "|" : "", (int)n, text);
	}
	assert_string_equal(lines, expected);
}

/* Lines end at blanks, and their width is that of characters. */
static void folded(void **state)
{
	(void)state;
	check_folded("one two three", 7, true, "one two|three");
	check_folded("one two three", 100, true, "one two three");
	check_folded("\xe6\x97\xa5\xe6\x9c\xac \xe6\x97\xa5\xe6\x9c\xac", 9, true,
		     "\xe6\x97\xa5\xe6\x9c\xac \xe6\x97\xa5\xe6\x9c\xac");
	/* a long word is cut between two characters, or stays whole, and the rest is folded */
	check_folded("\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e b", 5, true,
		     "\xe6\x97\xa5\xe6\x9c\xac|\xe8\xaa\x9e b");
	check_folded("abcdefghij k lmnop", 5, false, "abcdefghij|k|lmnop");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(what_is_fit_stays),
	    cmocka_unit_test(what_is_not_is_written_out),
	    cmocka_unit_test(too_long_for_a_character),
	    cmocka_unit_test(utf8_in_any_locale),
	    cmocka_unit_test(folded),
	};

	setlocale(LC_ALL, "C.UTF-8");
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
