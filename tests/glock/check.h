/* SPDX-License-Identifier: MIT */
/* check.h - the headers and macros of every cmocka test here. */
#ifndef TESTS_GLOCK_CHECK_H
#define TESTS_GLOCK_CHECK_H

/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

/*
 * Tells whether a loop in which threads wait for each other is to end. On a machine with much other
 * work each wait takes milliseconds, and not all rounds can be made.
 */
static inline bool enough_after(time_t begun)
{
	return time(NULL) - begun > 8;
}

/* Writes TAP on standard output, always. */
#define RUN_TESTS(tests) \
	(cmocka_set_message_output(CM_OUTPUT_TAP), cmocka_run_group_tests(tests, NULL, NULL))

#endif
