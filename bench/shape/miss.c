/* SPDX-License-Identifier: MIT */
/*
 * miss.c - one uncontended miss, for miss.sh, which traces the calls of one_miss().
 *
 * usage: miss LOCKMAN
 */
#include "glock.h"

#include <stdio.h>

static int __attribute__((noinline)) one_miss(struct glock_holder *gh)
{
	int err = glock_nq(gh);

	__asm__ volatile("" ::: "memory"); /* the call is not the last action */
	return err;
}

int main(int argc, char **argv)
{
	struct glock_space_options o = {.size = sizeof(o)};
	struct glock_space *space;
	struct glock *gl;
	struct glock_holder gh;
	int err;

	o.lockman = argc > 1 ? argv[1] : "local";
	err = glock_space_open("miss", &o, &space);
	/* The first miss takes memory, and makes the table. */
	for (uint64_t number = 1; !err && number <= 2; number++) {
		err = glock_get(space, GLOCK_INODE, number, &gl);
		if (err)
			break;
		glock_holder_init(&gh, gl, GLOCK_EX, 0);
		err = number == 1 ? glock_nq(&gh) : one_miss(&gh);
		if (!err)
			err = glock_dq(&gh);
		glock_put(gl);
	}
	if (err)
		fprintf(stderr, "miss: error %d\n", err);
	else
		glock_space_close(space);
	return err != 0;
}
