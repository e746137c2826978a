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
 * 1000 acquisitions and 50 s fall to 10 and 0.2 s: the lock left memory and came back, and that is
 * all it did since.
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
 * Only the total falls: all of the life is new; still nothing negative and nothing of the life
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

/* A whole life of 1000 s cannot have been waited by 6 acquisitions in 5 s. */
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
 * u32 gets go round: the kernel then says 1 and that wait. From 4294967290 there are 5 to the last
 * number, the next is 1 and so on up to 5: 10 acquisitions, and 0.05 s that the new total holds.
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

/* The failures' counter goes round, too; the others go on. */
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
 * The longest wait is a u32 in us: after one of 4300 s (71 min and 5.03 s) it says 5.03 s, and may
 * be less than it was. The total says truly by how much it moved: 4300 s, of which this frame has
 * 5.
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
 * Another generation in W's name is another file, though every counter is larger: all of it is new.
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
 * M carries no generation: the same numbers are taken as one life, so the difference counts and
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
 * The kernel leaves the line out of t1 and t2. Its 3 s of 15 s: one of them in the frame t2..t3,
 * none before.
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
	assert_near(waited(s, 2, 100), 1, 1e-6);
	assert_int_equal(number(row_of(frame(s, 2), 100), "acquired"), 100);
}

/* A lock seen for the first time has no past, as large as its total may be. */
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

/* First seen in t1 and waiting since long before t0: of the frame it waited all, 5 s, not more. */
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

/* The largest numbers that a line can hold: the sums stay finite and the JSON is one. */
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

/* A stamp that cannot be: nobody waits since before clocks, nor since a time far ahead. */
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

/* Inode numbers are 64 bits without a sign. */
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
