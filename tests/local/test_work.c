/* SPDX-License-Identifier: MIT */
/*
 * test_work.c - tests what a reader sees of work that several threads run, and until when a reader
 * gets events. The segment names the work that has been running longest.
 */
#include "../glock/check.h"
#include "base/atom.h"
#include "glock/core/space.h"
#include "glock/publish/publish.h"
#include "glock/state/show.h"

#include <poll.h>
#include <stdatomic.h>

enum { GLOCKS = 3, PATIENCE_MS = 30000 };

static atomic_bool inside[GLOCKS], may_end[GLOCKS];

static void wait_for(atomic_bool *what)
{
	for (int ms = 0; !*what && ms < PATIENCE_MS; ms++)
		poll(NULL, 0, 1);
	assert_true(*what);
}

/* The write-back of a glock ends when the test says so. */
static int write_back(struct glock *gl, enum glock_mode to, unsigned int sync)
{
	uint64_t n = glock_number(gl);

	(void)to;
	if (!sync)
		return 0;
	inside[n] = true;
	for (int ms = 0; !may_end[n] && ms < PATIENCE_MS; ms++)
		poll(NULL, 0, 1);
	inside[n] = false;
	return 0;
}

static void cache(struct glock_space *space, uint64_t number)
{
	struct glock_holder gh;
	struct glock *gl;

	assert_int_equal(glock_get(space, GLOCK_INODE, number, &gl), 0);
	glock_holder_init(&gh, gl, GLOCK_EX, 0);
	assert_int_equal(glock_nq(&gh), 0);
	assert_int_equal(glock_dq(&gh), 0);
	glock_put(gl);
}

/* Waits until the segment names this work, and checks that the name stays for a moment. */
static void named(struct glock_space *space, uint64_t number, bool any)
{
	struct glock__segment_head *h = glock__publisher_head(space->publisher);
	uint64_t *since = (uint64_t *)&h->work_since;
	int ms = 0;

	while (
	    ((atom_load64(since) != 0) != any || (any && atom_load64(&h->work_number) != number)) &&
	    ms++ < PATIENCE_MS)
		poll(NULL, 0, 1);
	poll(NULL, 0, 5);
	assert_int_equal(atom_load64(since) != 0, any);
	if (any) {
		assert_int_equal(atom_load32(&h->work_type), GLOCK_INODE);
		assert_int_equal(atom_load64(&h->work_number), number);
	}
}

static void the_oldest_work_is_published(void **state)
{
	static const struct glock_ops ops = {.size = sizeof(ops), .xmote_th = write_back};
	const struct glock_type_options type = {
	    .size = sizeof(type), .type = GLOCK_INODE, .ops = &ops};
	const struct glock_space_options o = {
	    .size = sizeof(o), .lockman = "local", .types = &type, .n_types = 1};
	struct glock_space *space;

	(void)state;
	assert_int_equal(glock_space_open("work", &o, &space), 0);
	assert_non_null(space->publisher);
	for (uint64_t i = 0; i < GLOCKS; i++)
		cache(space, i);
	for (int i = 0; i < GLOCKS; i++) {
		assert_int_equal(glock_shrink(space, 1), 1); /* the coldest first: 0, 1, 2 */
		wait_for(&inside[i]);
		named(space, 0, true);
	}
	may_end[1] = true; /* not the oldest */
	named(space, 0, true);
	may_end[0] = true;
	named(space, 2, true);
	may_end[2] = true;
	named(space, 0, false);
	assert_int_equal(glock_space_close(space), 0);
}

/* A reader asks for the trace until a time. After that time no event goes there. */
static void a_trace_ends(void **state)
{
	const struct glock_space_options o = {.size = sizeof(o), .lockman = "local"};
	struct glock_space *space;

	(void)state;
	assert_int_equal(glock_space_open("work", &o, &space), 0);
	assert_null(glock__publish_traced(space));
	atom_store64(space->trace_until, (uint64_t)glock__now(space) + 60000000000);
	assert_non_null(glock__publish_traced(space));
	atom_store64(space->trace_until, (uint64_t)glock__now(space) - 1);
	assert_null(glock__publish_traced(space));
	assert_int_equal(atom_load32(&space->traced), 0);
	assert_int_equal(glock_space_close(space), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(the_oldest_work_is_published),
					   cmocka_unit_test(a_trace_ends)};

	return RUN_TESTS(tests);
}
