/* SPDX-License-Identifier: MIT */
/*
 * bad_counters.c - tests counters that go backwards, wrap, restart or are missing for a while.
 *
 * No second is made up, and no frame shows more than the move of the totals.
 */
#include "scene.h"

#define S 1000000000ull /* in ns */

static void clocks(struct scene *s, int n)
{
	for (int t = 0; t < n; t++)
		scene_clock(s, t, "node1");
}

/*
 * 1000 acquisitions and 50 s fall to 10 and 0.2 s, because the lock left memory and returned. Since
 * then it counted 10 and 0.2 s.
 */
static void counters_fall(void **state)
{
	struct scene *s = *state;

	clocks(s, 2);
	LINE(0, "node1", .ino = 100, .gets = {1000, 0}, .total_ns = {50 * S, 0},
	     .max = {1000000, 0});
	LINE(1, "node1", .ino = 100, .gets = {10, 0}, .total_ns = {S / 5, 0}, .max = {100000, 0});
	scene_json(s);
	assert_near(waited(s, 0, 100), 0.2, 1e-6);
	assert_int_equal(number(row_of(frame(s, 0), 100), "acquired"), 10);
	assert_near(number(row_of(frame(s, 0), 100), "longest_wait_s"), 0.1, 1e-6);
}

/*
 * Only the total falls. All of the life is new. No number is negative, and none is from the life
 * before.
 */
static void total_falls(void **state)
{
	struct scene *s = *state;

	clocks(s, 2);
	LINE(0, "node1", .ino = 100, .gets = {5, 0}, .total_ns = {50 * S, 0}, .max = {1000000, 0});
	LINE(1, "node1", .ino = 100, .gets = {6, 0}, .total_ns = {S, 0}, .max = {1000000, 0});
	scene_json(s);
	assert_true(waited(s, 0, 100) <= 1 + 1e-6);
	assert_int_equal(number(row_of(frame(s, 0), 100), "acquired"), 6);
}

/* 6 acquisitions in 5 s cannot have waited the 1000 s of a whole life. */
static void new_life_of_many_seconds(void **state)
{
	struct scene *s = *state;

	clocks(s, 2);
	LINE(0, "node1", .ino = 100, .gets = {7, 0}, .total_ns = {2000 * S, 0},
	     .max = {1000000, 0});
	LINE(1, "node1", .ino = 100, .gets = {6, 0}, .total_ns = {1000 * S, 0}, .max = {900000, 0});
	scene_json(s);
	assert_true(waited(s, 0, 100) <= 6 * STEP + 1e-6);
}

/*
 * The u32 counter of acquisitions wraps. The kernel then says 1 and that wait. From 4294967290
 * there are 5 to the last number. The next is 1, and so on up to 5. So there are 10 acquisitions,
 * and the new total holds 0.05 s.
 */
static void gets_go_round(void **state)
{
	struct scene *s = *state;

	clocks(s, 2);
	LINE(0, "node1", .ino = 100, .gets = {4294967290u, 7}, .fails = {3, 0},
	     .total_ns = {100 * S, S}, .max = {1000000, 9});
	LINE(1, "node1", .ino = 100, .gets = {5, 7}, .fails = {3, 0}, .total_ns = {S / 20, S},
	     .max = {1000000, 9});
	scene_json(s);
	assert_near(waited(s, 0, 100), 0.05, 1e-6);
	assert_int_equal(number(row_of(frame(s, 0), 100), "acquired"), 10);
}

/* The counter of failures wraps, too. The other counters go on. */
static void failures_go_round(void **state)
{
	struct scene *s = *state;

	clocks(s, 2);
	LINE(0, "node1", .ino = 100, .gets = {100, 0}, .fails = {4294967295u, 0},
	     .total_ns = {100 * S, 0}, .max = {1000000, 0});
	LINE(1, "node1", .ino = 100, .gets = {110, 0}, .fails = {2, 0}, .total_ns = {101 * S, 0},
	     .max = {1000000, 0});
	scene_json(s);
	assert_near(waited(s, 0, 100), 1, 1e-6);
	assert_int_equal(number(row_of(frame(s, 0), 100), "acquired"), 10);
}

/*
 * The longest wait is a u32 in us. After a wait of 4300 s (71 min and 5.03 s) it says 5.03 s, so it
 * may fall. The total still says by how much it moved: 4300 s, of which this frame has 5.
 */
static void maximum_goes_round(void **state)
{
	struct scene *s = *state;

	clocks(s, 2);
	LINE(0, "node1", .ino = 100, .gets = {100, 0}, .total_ns = {9000 * S, 0},
	     .max = {600000000, 0});
	LINE(1, "node1", .ino = 100, .gets = {101, 0}, .total_ns = {13300 * S, 0},
	     .max = {5032704, 0});
	scene_json(s);
	assert_true(waited(s, 0, 100) <= STEP + 1e-6);
	assert_int_equal(number(row_of(frame(s, 0), 100), "acquired"), 1);
}

/*
 * Another generation in the name of W is another file. All of its counters are new, although each
 * of them is larger.
 */
static void another_generation(void **state)
{
	struct scene *s = *state;

	clocks(s, 2);
	LINE(0, "node1", .type = 'W', .ino = 100, .generation = 1, .gets = {0, 10},
	     .total_ns = {0, S}, .max = {0, 100000});
	LINE(1, "node1", .type = 'W', .ino = 100, .generation = 2, .gets = {0, 20},
	     .total_ns = {0, 3 * S}, .max = {0, 200000});
	scene_json(s);
	assert_near(waited(s, 0, 100), 3, 1e-6);
	assert_int_equal(number(row_of(frame(s, 0), 100), "acquired"), 20);
}

/*
 * M carries no generation. The test takes the same numbers as one life: the difference counts,
 * never more.
 */
static void larger_without_generation(void **state)
{
	struct scene *s = *state;

	clocks(s, 2);
	LINE(0, "node1", .ino = 100, .gets = {0, 10}, .total_ns = {0, S}, .max = {0, 100000});
	LINE(1, "node1", .ino = 100, .gets = {0, 20}, .total_ns = {0, 3 * S}, .max = {0, 200000});
	scene_json(s);
	assert_near(waited(s, 0, 100), 2, 1e-6);
	assert_int_equal(number(row_of(frame(s, 0), 100), "acquired"), 10);
}

/*
 * The kernel omits the line in t1 and t2. All of its 3 s in 15 s count in the frame t2..t3, so that
 * the sum of the frames is right. The rates are those of this frame: 1 s and 100 acquisitions.
 */
static void line_missing(void **state)
{
	struct scene *s = *state;

	clocks(s, 4);
	for (int t = 0; t < 4; t++) {
		LINE(t, "node1", .ino = 200, .gets = {1, 0});
		if (t == 0 || t == 3)
			LINE(t, "node1", .ino = 100, .gets = {100 + 100 * (unsigned)t, 0},
			     .total_ns = {100 * S + (unsigned)t * S, 0},
			     .max = {100000 + (unsigned)t, 0});
	}
	scene_json(s);
	assert_null(row_of(frame(s, 0), 100));
	assert_null(row_of(frame(s, 1), 100));
	assert_near(waited(s, 2, 100), 3, 1e-6);
	assert_near(rate(s, 2, 100), 1 / STEP, 1e-6);
	assert_int_equal(number(row_of(frame(s, 2), 100), "acquired"), 300);
	assert_near(number(json_object_get(frame(s, 2), "totals"), "acquired_per_s"), 100 / STEP,
		    1e-6);
}

/* A lock that is first seen has no past, however large its total is. */
static void first_seen(void **state)
{
	struct scene *s = *state;

	clocks(s, 3);
	for (int t = 0; t < 3; t++) {
		LINE(t, "node1", .ino = 200, .gets = {1, 0});
		if (t > 0)
			LINE(t, "node1", .ino = 100, .gets = {100000 + (unsigned)t, 0},
			     .total_ns = {5000 * S + (unsigned)t * S, 0}, .max = {4000000, 0});
	}
	scene_json(s);
	assert_near(waited(s, 0, 100), 0, 1e-9);
	assert_near(waited(s, 1, 100), 1, 1e-6);
}

/* A lock is first seen in t1 and waits since long before t0. It waited the whole frame: 5 s. */
static void first_seen_waiting(void **state)
{
	struct scene *s = *state;

	clocks(s, 2);
	LINE(0, "node1", .ino = 200, .gets = {1, 0});
	LINE(1, "node1", .ino = 100, .gets = {7, 0}, .total_ns = {5000 * S, 0},
	     .wait_us = STAMP(-300));
	scene_json(s);
	assert_near(waited(s, 0, 100), 5, 1e-3);
	assert_near(number(row_of(frame(s, 0), 100), "oldest_wait_s"), 305, 1e-3);
}

/* With the largest numbers that a line can hold, the sums stay finite and the JSON is valid. */
static void largest_numbers(void **state)
{
	struct scene *s = *state;

	clocks(s, 2);
	LINE(0, "node1", .ino = 100, .gets = {0, 0});
	LINE(1, "node1", .ino = 100, .gets = {~0u, ~0u}, .fails = {~0u, ~0u},
	     .total_ns = {~0ull, ~0ull}, .max = {~0u, ~0u}, .last_us = {~0ull, ~0ull},
	     .wait_us = ~0ull);
	LINE(0, "node1", .ino = 101, .gets = {1, 0}, .wait_us = 1ull << 63);
	LINE(1, "node1", .ino = 101, .gets = {1, 0}, .wait_us = (1ull << 63) - 1);
	scene_stats(s, 0, "node1", 2, 0x500, 0, 0, 0);
	scene_stats(s, 1, "node1", 2, 0x500, -1, ~0ull, ~0ull);
	scene_stats(s, 0, "node1", 2, 0x501, 0x7fffffffffffffff, 8, 0);
	scene_stats(s, 1, "node1", 2, 0x501, 0, ~0ull, ~0ull);
	scene_json(s);
	assert_int_equal(s->status, 0);
	assert_true(number(row_of(frame(s, 0), 100), "wait_s") >= 0);
	scene_run(s, "-b", "--details", "@", NULL);
	assert_int_equal(s->status, 0);
}

/* A stamp is impossible if it lies before the clock began, or far in the future. It is no wait. */
static void impossible_stamps(void **state)
{
	struct scene *s = *state;

	clocks(s, 2);
	for (int t = 0; t < 2; t++) {
		LINE(t, "node1", .ino = 100, .gets = {1, 0}, .wait_us = ~0ull);
		LINE(t, "node1", .ino = 101, .gets = {1, 0}, .wait_us = 1ull << 63);
		LINE(t, "node1", .ino = 102, .gets = {1, 0}, .wait_us = STAMP(1e9));
	}
	scene_json(s);
	for (unsigned ino = 100; ino <= 102; ino++) {
		assert_near(waited(s, 0, ino), 0, 1e-9);
		if (row_of(frame(s, 0), ino))
			assert_near(number(row_of(frame(s, 0), ino), "oldest_wait_s"), 0, 1e-9);
	}
}

/* Inode numbers are unsigned and have 64 bits. */
static void largest_inode(void **state)
{
	struct scene *s = *state;
	json_t *row;

	clocks(s, 2);
	for (unsigned t = 0; t < 2; t++)
		LINE((int)t, "node1", .ino = 0xfffffffffffffff0, .gets = {1 + t, 0});
	scene_json(s);
	row = json_array_get(json_object_get(frame(s, 0), "rows"), 0);
	assert_non_null(row);
	assert_true(json_number_value(json_object_get(row, "ino")) >= 0);
}

int main(void)
{
#define BAD(test) cmocka_unit_test_setup_teardown(test, scene_setup, scene_teardown)
	const struct CMUnitTest tests[] = {
	    BAD(counters_fall),
	    BAD(total_falls),
	    BAD(new_life_of_many_seconds),
	    BAD(gets_go_round),
	    BAD(failures_go_round),
	    BAD(maximum_goes_round),
	    BAD(another_generation),
	    BAD(larger_without_generation),
	    BAD(line_missing),
	    BAD(first_seen),
	    BAD(first_seen_waiting),
	    BAD(largest_numbers),
	    BAD(impossible_stamps),
	    BAD(largest_inode),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
