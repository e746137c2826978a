/* SPDX-License-Identifier: MIT */
/* opening.c - see opening.h. */
#include "opening.h"

#include "actor.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

int64_t try_open(const char *name)
{
	static struct actor a;
	int64_t err;

	actor_start(&a);
	err = actor_do(&a, "open %s", name);
	if (err && err != -EINVAL)
		assert_true(actor_do(&a, "log") > 0); /* a message told the reason */
	else if (!err)
		assert_int_equal(actor_do(&a, "close"), 0);
	actor_kill(&a);
	return err;
}
