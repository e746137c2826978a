/* SPDX-License-Identifier: MIT */
/*
 * test_memory.c - tests functions of glock.h without memory. The linker leads each allocation of
 * the library here.
 */
#include "check.h"
#include "glock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MANY = 17, NEW = 100000 }; /* more requests than glock_nq_m() has room for on its stack */

static _Thread_local bool scarce;

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);

void *__wrap_malloc(size_t size)
{
	return scarce ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size)
{
	return scarce ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t size)
{
	return scarce ? NULL : __real_realloc(p, size);
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
	return scarce ? NULL : __real_aligned_alloc(alignment, size);
}

static struct glock_space *space;

static int open_it(void)
{
	const struct glock_space_options o = {.size = sizeof(o)};

	return glock_space_open("memory", &o, &space);
}

/* Promises: glock_space_open: "-ENOMEM, -EMFILE no". */
static void memory_for_a_space(void **state)
{
	(void)state;
	scarce = true;
	assert_int_equal(open_it(), -ENOMEM);
	scarce = false;
	assert_int_equal(open_it(), 0);
	assert_int_equal(glock_space_close(space), 0);
}

/* There is room for some glocks. Then a glock that exists is still found. */
/* Promises: glock_get: "-ENOMEM no memory". */
static void memory_for_a_glock(void **state)
{
	struct glock *first, *gl;
	uint64_t n = 1;
	int err = 0;

	(void)state;
	assert_int_equal(open_it(), 0);
	assert_int_equal(glock_get(space, GLOCK_INODE, 0, &first), 0);
	scarce = true;
	while (n < NEW && !(err = glock_get(space, GLOCK_INODE, n, &gl)))
		n++;
	assert_int_equal(err, -ENOMEM);
	assert_int_equal(glock_get(space, GLOCK_INODE, 0, &gl), 0);
	scarce = false;
	assert_ptr_equal(gl, first);
	glock_put(gl);
	assert_int_equal(glock_get(space, GLOCK_INODE, n, &gl), 0);
	for (uint64_t i = 0; i <= n; i++) {
		assert_int_equal(glock_get(space, GLOCK_INODE, i, &gl), 0);
		glock_put(gl);
		glock_put(gl);
	}
	assert_int_equal(glock_space_close(space), 0);
}

/* Promises: glock_nq_m: "-ENOMEM more than". */
static void memory_for_many_requests(void **state)
{
	struct glock_holder gh[MANY];
	struct glock *gls[MANY];

	(void)state;
	assert_int_equal(open_it(), 0);
	for (uint64_t i = 0; i < MANY; i++) {
		assert_int_equal(glock_get(space, GLOCK_INODE, i, &gls[i]), 0);
		glock_holder_init(&gh[i], gls[i], GLOCK_EX, 0);
	}
	scarce = true;
	assert_int_equal(glock_nq_m(MANY, gh), -ENOMEM);
	scarce = false;
	for (size_t i = 0; i < MANY; i++)
		assert_int_equal(glock_dq(&gh[i]), -EINVAL);
	scarce = true;
	assert_int_equal(glock_nq_m(MANY - 1, gh), 0);
	scarce = false;
	glock_dq_m(MANY - 1, gh);
	for (size_t i = 0; i < MANY; i++)
		glock_put(gls[i]);
	assert_int_equal(glock_space_close(space), 0);
}

static void count(void *to, const char *text, size_t len)
{
	(void)text;
	*(size_t *)to += len;
}

/* Promises: glock_dump: "-ENOMEM no memory". */
static void memory_for_a_dump(void **state)
{
	size_t bytes = 0;
	struct glock *gl;
	int err;

	(void)state;
	assert_int_equal(open_it(), 0);
	assert_int_equal(glock_get(space, GLOCK_INODE, 1, &gl), 0);
	scarce = true;
	err = glock_dump(space, GLOCK_FILE_GLOCKS, GLOCK_FORMAT_LINUX_7_0, count, &bytes);
	scarce = false;
	assert_int_equal(err, -ENOMEM);
	assert_int_equal(bytes, 0);
	assert_int_equal(
	    glock_dump(space, GLOCK_FILE_GLOCKS, GLOCK_FORMAT_LINUX_7_0, count, &bytes), 0);
	assert_true(bytes > 0);
	glock_put(gl);
	assert_int_equal(glock_space_close(space), 0);
}

/* Promises: glock_notifier_open: "-ENOMEM, -EMFILE, -ENFILE". */
static void memory_for_a_notifier(void **state)
{
	struct glock_notifier *notifier;
	int err;

	(void)state;
	assert_int_equal(open_it(), 0);
	scarce = true;
	err = glock_notifier_open(&notifier);
	scarce = false;
	assert_int_equal(err, -ENOMEM);
	assert_int_equal(glock_notifier_open(&notifier), 0);
	assert_int_equal(glock_notifier_close(notifier), 0);
	assert_int_equal(glock_space_close(space), 0);
}

/* The members of a space of "none" take no memory. So this is a space of "local". */
/* Promises: glock_nodes: "-ENOMEM no memory". */
static void memory_for_members(void **state)
{
	char dir[] = "/dev/shm/glock-members-XXXXXX", path[64];
	const struct glock_space_options o = {.size = sizeof(o), .lockman = "local", .dir = dir};
	struct glock_node node = {.size = sizeof(node)};
	int err;

	(void)state;
	assert_non_null(mkdtemp(dir));
	unsetenv("GLOCK_DIR"); /* which must not differ from dir */
	assert_int_equal(glock_space_open("memory", &o, &space), 0);
	scarce = true;
	err = glock_nodes(space, &node, 1);
	scarce = false;
	assert_int_equal(err, -ENOMEM);
	assert_int_equal(glock_nodes(space, &node, 1), 1);
	assert_int_equal(glock_space_close(space), 0);
	snprintf(path, sizeof(path), "%s/memory", dir);
	unlink(path);
	rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(memory_for_a_space),       cmocka_unit_test(memory_for_a_glock),
	    cmocka_unit_test(memory_for_many_requests), cmocka_unit_test(memory_for_a_dump),
	    cmocka_unit_test(memory_for_a_notifier),    cmocka_unit_test(memory_for_members),
	};

	return RUN_TESTS(tests);
}
