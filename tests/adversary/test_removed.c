/* SPDX-License-Identifier: MIT */
/* test_removed.c - tests that a removed file drops the caches of the processes that use it. */
#include "watched.h"

/* The node notices within 2 seconds, although it asks for nothing. Its cache is dropped. */
/* Promises: Files of "local": "The earlier processes", "From then on", "The work drops". */
static void removed_file_drops_caches(void)
{
	struct glock_holder gh;
	int64_t began;

	begin_watched(0);
	SAME(ask(&gh, GLOCK_EX, 0), 0);
	SAME(glock_dq(&gh), 0);
	SAME(did.invals, 0);
	forget_spaces();
	began = now();
	UNTIL(did.invals);
	CHECK(now() - began < 6 * SECOND); /* 2 seconds, and a busy machine */
	SAME(ask(&gh, GLOCK_EX, 0), -EIO);
	SAME(ask(&gh, GLOCK_SH, GLOCK_TRY), -EIO);
	end();
}

static int removes_in_th(struct glock *of)
{
	struct glock_holder gh;
	int err;

	if (of != other)
		return 0;
	did.in_th = NULL;
	forget_spaces();
	/* until the node has noticed */
	do {
		glock_holder_init(&gh, gl, GLOCK_SH, GLOCK_TRY);
		err = glock_nq(&gh);
		if (!err)
			SAME(glock_dq(&gh), 0);
		breathe();
	} while (err != -EIO);
	shared->cell[0] = (uint64_t)did.invals + 1;
	return 0;
}

/* The work is in an operation when the file goes. It drops the caches when the operation ends. */
/* Promises: Files of "local": "If the work". */
static void removed_file_while_in_an_operation(void)
{
	struct glock_holder gh;

	begin_watched(0);
	other = get(space, GLOCK_INODE, 2);
	SAME(ask(&gh, GLOCK_EX, 0), 0);
	SAME(glock_dq(&gh), 0);
	glock_holder_init(&gh, other, GLOCK_EX, GLOCK_ASYNC); /* the library's thread runs this */
	did.in_th = removes_in_th;
	SAME(glock_nq(&gh), 0);
	UNTIL(shared->cell[0]);
	alarm(SOON_S); /* ends the test if the caches stay */
	UNTIL(did.invals);
	alarm(0);
	SAME(glock_wait(&gh, 0, 0), -EIO);
	glock_put(other);
	end();
}

int main(void)
{
	static const struct test tests[] = {
	    {"removed_file_drops_caches", removed_file_drops_caches, "local"},
	    {"removed_file_while_in_an_operation", removed_file_while_in_an_operation, "local"},
	};

	return run_tests(tests, COUNT(tests));
}
