/* SPDX-License-Identifier: MIT */
/* first_holder.c - lock runs for each first holder, instantiate only if the cache is not good. */
#include <glock.h>
#include <stdio.h>

static int locks, reads;

static int lock(struct glock_holder *gh)
{
	(void)gh;
	locks++; /* a program that reads the file in here loses what it wrote since */
	return 0;
}

static int instantiate(struct glock_holder *gh)
{
	(void)gh;
	reads++;
	return 0;
}

static void report(const char *what)
{
	printf("%s: %d calls of lock, %d of instantiate\n", what, locks, reads);
	locks = reads = 0;
}

static int take(struct glock *gl, enum glock_mode mode)
{
	GLOCK_SCOPE struct glock_holder gh = GLOCK_HOLDER_NONE;

	return glock_lock(gl, mode, &gh);
}

int main(void)
{
	struct glock_ops ops = {.size = sizeof(ops), .lock = lock, .instantiate = instantiate};
	struct glock_type_options t = {.size = sizeof(t), .type = GLOCK_INODE, .ops = &ops};
	struct glock_space_options o = {.size = sizeof(o), .types = &t, .n_types = 1};
	struct glock_space *here, *there; /* two nodes */
	struct glock *gl, *its;
	struct glock_holder gh[3];
	int err;

	if (glock_space_open("first_holder", &o, &here) || glock_get(here, GLOCK_INODE, 1, &gl) ||
	    glock_space_open("first_holder", NULL, &there) ||
	    glock_get(there, GLOCK_INODE, 1, &its))
		return 1;
	err = take(gl, GLOCK_SH) || take(gl, GLOCK_SH) || take(gl, GLOCK_SH);
	report("three holders, one after the other");
	for (unsigned int i = 0; i < 3; i++) {
		glock_holder_init(&gh[i], gl, GLOCK_SH, 0);
		glock_holder_owner(&gh[i], i + 1); /* three owners, though one thread */
		err |= glock_nq(&gh[i]);
	}
	for (unsigned int i = 0; i < 3; i++)
		err |= glock_dq(&gh[i]);
	report("three holders at the same time");
	err |= take(its, GLOCK_EX) || take(gl, GLOCK_SH);
	report("a holder after another node wrote");
	glock_put(gl);
	glock_put(its);
	return err || glock_space_close(here) || glock_space_close(there);
}
