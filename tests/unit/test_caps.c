/* SPDX-License-Identifier: MIT */
/*
 * test_caps.c - tests that a refusal to give up capabilities reaches the caller.
 *
 * The linker leads the calls of libcap-ng here. Each of them can be made to fail.
 */
#include "o2top/base/caps.h"
#include "unit.h"

#include <cap-ng.h>
#include <errno.h>

static bool no_caps_known, may_set_bounds;
static int refuses; /* the sets of which a call fails */
static int applied; /* the sets of which a call was made */

int __wrap_capng_apply(capng_select_t set);
int __wrap_capng_get_caps_process(void);
int __wrap_capng_have_capability(capng_type_t which, unsigned int capability);

int __wrap_capng_apply(capng_select_t set)
{
	applied |= (int)set;
	return refuses & (int)set ? -5 : 0;
}

int __wrap_capng_get_caps_process(void)
{
	return no_caps_known ? -1 : 0;
}

int __wrap_capng_have_capability(capng_type_t which, unsigned int capability)
{
	(void)which;
	return capability == CAP_SETPCAP ? may_set_bounds : capability == CAP_DAC_READ_SEARCH;
}

static int reset(void **state)
{
	(void)state;
	no_caps_known = false;
	may_set_bounds = true;
	refuses = applied = 0;
	return 0;
}

static void what_succeeds_is_no_error(void **state)
{
	(void)state;
	assert_int_equal(caps_drop(CAPS_NONE), 0);
	assert_int_equal(applied, CAPNG_SELECT_CAPS);
	assert_int_equal(caps_drop_for_good(CAPS_FIND_PATHS), 0);
	assert_int_equal(applied, CAPNG_SELECT_BOTH);
	assert_int_equal(caps_raise(true), 0);
}

static void a_refusal_is_an_error(void **state)
{
	(void)state;
	refuses = CAPNG_SELECT_CAPS;
	assert_int_equal(caps_drop(CAPS_NONE), -EPERM);
	assert_int_equal(caps_drop_for_good(CAPS_NONE), -EPERM);
	assert_int_equal(caps_raise(true), -EPERM);
	assert_int_equal(caps_raise(false), -EPERM);
	refuses = CAPNG_SELECT_BOUNDS;
	assert_int_equal(caps_drop_for_good(CAPS_NONE), -EPERM);
	no_caps_known = true;
	assert_int_equal(caps_drop(CAPS_NONE), -EIO);
	assert_int_equal(caps_raise(true), -EIO);
}

/* A container often lacks CAP_SETPCAP. Then the other set is given up all the same. */
static void without_setpcap_the_bounds_stay(void **state)
{
	(void)state;
	may_set_bounds = false;
	refuses = CAPNG_SELECT_BOUNDS;
	assert_int_equal(caps_drop_for_good(CAPS_NONE), 0);
	assert_int_equal(applied, CAPNG_SELECT_CAPS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup(what_succeeds_is_no_error, reset),
	    cmocka_unit_test_setup(a_refusal_is_an_error, reset),
	    cmocka_unit_test_setup(without_setpcap_the_bounds_stay, reset),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
