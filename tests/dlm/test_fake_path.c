/* SPDX-License-Identifier: MIT */
/* test_fake_path.c - tests locks by path with the lock manager dlm, on the DLM of fake_dlm.c. */
#include "../path/faked_fs.h"
#include "fake_node.h"

#include "glock-path.h"

#include <stdlib.h>
#include <unistd.h>

/* Two nodes exclude each other by the path. */
static void two_nodes(unsigned int flags, const char *path)
{
	const struct glock_path_options o = {.size = sizeof(o), .flags = flags};
	struct glock_space *a = node(0), *b = node(0);
	struct glock_holder first, second;
	struct glock *of_a, *of_b;

	assert_int_equal(glock_get_path(a, path, &o, &of_a), 0);
	assert_int_equal(glock_get_path(b, path, &o, &of_b), 0);
	assert_int_equal(glock_number(of_a), glock_number(of_b));
	assert_int_equal(glock_lock(of_a, GLOCK_EX, &first), 0);
	glock_holder_init(&second, of_b, GLOCK_EX, GLOCK_ASYNC);
	assert_int_equal(glock_nq(&second), 0);
	assert_int_equal(glock_poll(&second), 0);
	assert_int_equal(glock_unlock(&first), 0);
	assert_int_equal(glock_wait(&second, 0, 0), 0);
	assert_int_equal(glock_dq(&second), 0);
	leave(a, of_a);
	leave(b, of_b);
}

/* Promises: glock_get_path: "unless the lock manager is dlm". */
static void without_interop_on_a_shared_file_system(void **state)
{
	(void)state;
	file_system = 0x6969; /* NFS */
	two_nodes(GLOCK_PATH_NO_INTEROP, "/tmp/glock-fake-alone");
	file_system = 0;
	assert_int_equal(access("/tmp/glock-fake-alone", F_OK), -1);
}

static void with_a_flock(void **state)
{
	char path[] = "/tmp/glock-fake-XXXXXX";

	(void)state;
	close(mkstemp(path));
	two_nodes(0, path);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(without_interop_on_a_shared_file_system),
	    cmocka_unit_test(with_a_flock),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
