/* SPDX-License-Identifier: MIT */
/*
 * test_dlm_line.c - tests the parser of the DLM's dump.
 */
#include "print_lines.h"
#include "unit.h"

#define RSB "rsb 00000000d40c03c4 2 1c6 8 1 0 3 24 str        2            26b3"
#define HEX                                                                                      \
	"rsb 00000000a1b2c3d4 -1 0 0 0 0 0 31 hex 4e 30 30 30 30 30 30 30 30 30 30 30 30 30 30 " \
	"30 35 00 00 00 00 00 00 00 c6 02 00 00 00 00 00"
#define LKB                                                                             \
	"lkb 1c6 2 5f7 1770 18446744073709551615 1c 10000 3 0 3 5 -1 1 2 844672870177 " \
	"18446744073709551615"

static const char *rsb(struct dlm_rsb_line *l, const char *text, size_t len)
{
	char *copy = exact(text, len);
	const char *wrong = dlm_rsb_parse(l, copy, len);

	free(copy);
	return wrong;
}

static const char *lkb(struct dlm_lkb_line *l, const char *text, size_t len)
{
	char *copy = exact(text, len);
	const char *wrong = dlm_lkb_parse(l, copy, len);

	free(copy);
	return wrong;
}

static void resource_with_text(void **state)
{
	struct dlm_rsb_line l;
	uint64_t number;
	uint32_t type;
	char buf[512];

	(void)state;
	assert_null(rsb(&l, RSB, strlen(RSB)));
	assert_string_equal(l.pointer, "00000000d40c03c4");
	assert_int_equal(l.nodeid, 2);
	assert_int_equal(l.first_lkid, 0x1c6);
	assert_int_equal(l.flags, 8);
	assert_int_equal(l.root, 1);
	assert_int_equal(l.recover, 0);
	assert_int_equal(l.recover_count, 3);
	assert_int_equal(l.len, 24);
	assert_false(l.hex);
	assert_string_equal(l.name, "       2            26b3");
	assert_true(dlm_gfs2_name(&l, &type, &number));
	assert_int_equal(type, 2);
	assert_int_equal(number, 0x26b3);
	assert_int_equal(dlm_rsb_print(&l, buf, sizeof(buf)), strlen(RSB) + 1);
	assert_string_equal(buf, RSB "\n");
	assert_int_equal(dlm_rsb_print(&l, buf, 10), 0);
}

static void resource_with_bytes(void **state)
{
	struct dlm_rsb_line l;
	uint64_t number;
	uint32_t type;
	char buf[512];

	(void)state;
	assert_null(rsb(&l, HEX, strlen(HEX)));
	assert_int_equal(l.nodeid, -1);
	assert_true(l.hex);
	assert_int_equal(l.len, 31);
	assert_memory_equal(l.name, "N0000000000000005\0\0\0\0\0\0\0\xc6\x02\0\0\0\0\0", 31);
	assert_false(dlm_gfs2_name(&l, &type, &number));
	assert_int_equal(dlm_rsb_print(&l, buf, sizeof(buf)), strlen(HEX) + 1);
	assert_string_equal(buf, HEX "\n");
}

static void lock(void **state)
{
	struct dlm_lkb_line l;
	char buf[512];

	(void)state;
	assert_null(lkb(&l, LKB, strlen(LKB)));
	assert_int_equal(l.id, 0x1c6);
	assert_int_equal(l.nodeid, 2);
	assert_int_equal(l.remid, 0x5f7);
	assert_int_equal(l.pid, 1770);
	assert_true(l.xid == UINT64_MAX);
	assert_int_equal(l.exflags, 0x1c);
	assert_int_equal(l.flags, DLM_MASTER_COPY);
	assert_int_equal(l.status, DLM_CONVERTING);
	assert_int_equal(l.granted, 0);
	assert_int_equal(l.requested, 3);
	assert_int_equal(l.bast_mode, 5);
	assert_int_equal(l.rsb_lookup, -1);
	assert_int_equal(l.wait_type, 1);
	assert_int_equal(l.lvb_seq, 2);
	assert_int_equal(l.since_ns, 844672870177);
	assert_true(l.bast_ns == UINT64_MAX);
	assert_int_equal(dlm_lkb_print(&l, buf, sizeof(buf)), strlen(LKB) + 1);
	assert_string_equal(buf, LKB "\n");
	assert_int_equal(dlm_lkb_print(&l, buf, strlen(LKB) + 1), 0);
}

/* Kernels from 6.12 on name the columns in the first line. No resource looks like it. */
static void heading(void **state)
{
	static const char line[] = "rsb ptr nodeid first_lkid flags !root_list_empty "
				   "!recover_list_empty recover_locks_count len";
	struct dlm_rsb_line l;

	(void)state;
	assert_true(dlm_is_heading(line, strlen(line)));
	assert_non_null(rsb(&l, line, strlen(line)));
	assert_false(dlm_is_heading(RSB, strlen(RSB)));
	assert_false(dlm_is_heading("version rsb 1.1 lvb 1.1 lkb 1.1", 31));
	assert_false(dlm_is_heading(line, 7));
}

static void truncated(void **state)
{
	struct dlm_rsb_line r;
	struct dlm_lkb_line l;
	size_t last = (size_t)(strrchr(LKB, ' ') - LKB) + 1;

	(void)state;
	for (size_t n = 0; n < strlen(RSB); n++)
		assert_non_null(rsb(&r, RSB, n));
	for (size_t n = 0; n < strlen(HEX); n++)
		assert_non_null(rsb(&r, HEX, n));
	/* only the newline tells whether the last number is whole */
	for (size_t n = 0; n <= last; n++)
		assert_non_null(lkb(&l, LKB, n));
}

static void refused(void **state)
{
	static const char *const rsbs[] = {
	    "rsb  2 1c6 8 1 0 3 1 str a",
	    "rsb p x 1c6 8 1 0 3 1 str a",
	    "rsb p 2 0x1c6 8 1 0 3 1 str a",
	    "rsb p 2 1c6 8 1 0 3 2 str a",
	    "rsb p 2 1c6 8 1 0 3 1 str ab",
	    "rsb p 2 1c6 8 1 0 3 1 hex 6",
	    "rsb p 2 1c6 8 1 0 3 1 hex 61 62",
	    "rsb p 2 1c6 8 1 0 3 1 oct a",
	    ("rsb p 2 1c6 8 1 0 3 65 str "
	     "12345678901234567890123456789012345678901234567890123456789012345"),
	    "rsb ppppppppppppppppppppppppp 2 1c6 8 1 0 3 1 str a",
	    "rsb p 2147483648 1c6 8 1 0 3 1 str a"};
	static const char *const wrong[] = {"x?", "", "-", "1.5", "999999999999999999999"};
	struct dlm_rsb_line r;
	struct dlm_lkb_line l;
	char text[512];

	(void)state;
	for (size_t i = 0; i < sizeof(rsbs) / sizeof(rsbs[0]); i++)
		assert_non_null(rsb(&r, rsbs[i], strlen(rsbs[i])));
	for (unsigned n = 0; n < 20; n++)
		for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
			/*
			 * an empty place in "1c6" leaves another hexadecimal number, and so does
			 * "-" in front of one of two signs
			 */
			if (!replace_number(LKB, n, wrong[i], text, sizeof(text)) ||
			    (i == 1 && (n < 2 || n == 3 || n == 4 || n == 7)))
				continue;
			if (!lkb(&l, text, strlen(text)) && i != 1)
				fail_msg("taken: %s", text);
		}
}

static void names_of_gfs2(void **state)
{
	static const struct {
		const char *name;
		bool good;
		uint32_t type;
		uint64_t number;
	} names[] = {
	    {"       2            26b3", true, 2, 0x26b3},
	    {"ffffffffffffffffffffffff", true, UINT32_MAX, UINT64_MAX},
	    {"       9               0", true, 9, 0},
	    {"      2             26b3", false, 0, 0},
	    {"       2           26b3 ", false, 0, 0},
	    {"                    26b3", false, 0, 0},
	    {"       2                ", false, 0, 0},
	    {"       g            26b3", false, 0, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct dlm_rsb_line l = {.len = 24};
		uint64_t number;
		uint32_t type;

		memcpy(l.name, names[i].name, 24);
		assert_int_equal(dlm_gfs2_name(&l, &type, &number), names[i].good);
		if (names[i].good)
			assert_true(type == names[i].type && number == names[i].number);
	}
}

/* A later kernel may add fields at the end. */
static void fields_of_a_later_kernel(void **state)
{
	struct dlm_lkb_line l = {0}, as = {0};

	(void)state;
	assert_null(lkb(&as, LKB, strlen(LKB)));
	assert_null(lkb(&l, LKB " 77 88", strlen(LKB " 77 88")));
	assert_memory_equal(&l, &as, sizeof(l));
	assert_non_null(lkb(&l, LKB "x", strlen(LKB "x")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(fields_of_a_later_kernel),
	    cmocka_unit_test(resource_with_text),
	    cmocka_unit_test(resource_with_bytes),
	    cmocka_unit_test(lock),
	    cmocka_unit_test(heading),
	    cmocka_unit_test(truncated),
	    cmocka_unit_test(refused),
	    cmocka_unit_test(names_of_gfs2),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
