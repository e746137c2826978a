/* SPDX-License-Identifier: MIT */
/* watch.c - a node keeps a lock cached in SH. The operation inval tells of a change. */
#include <errno.h>
#include <glock.h>
#include <semaphore.h>
#include <stdio.h>

struct value {
	int32_t version;
	char unused[GLOCK_LVB_SIZE - sizeof(int32_t)];
};

static sem_t changed;

/* Another node has asked for EX. It gets the lock after this returns. */
static void lost(struct glock *gl, unsigned int what)
{
	(void)gl, (void)what;
	sem_post(&changed);
}

/* Without a value, this is the first version. */
static int read_value(struct glock_holder *gh, struct value *v)
{
	int err = glock_lvb_read(gh, v);

	if (err == -ENODATA)
		*v = (struct value){.version = 0};
	return err == -ENODATA ? 0 : err;
}

/* Waits until the change is done. Caches the lock again, so that the next change is told, too. */
static int see(struct glock *gl)
{
	GLOCK_SCOPE struct glock_holder gh = GLOCK_HOLDER_NONE;
	struct value v;

	if (glock_lock(gl, GLOCK_SH, &gh) || read_value(&gh, &v))
		return 1;
	printf("the watcher sees version %d\n", (int)v.version);
	return 0;
}

static int change(struct glock *gl)
{
	GLOCK_SCOPE struct glock_holder gh = GLOCK_HOLDER_NONE;
	struct value v;

	if (glock_lock(gl, GLOCK_EX, &gh) || read_value(&gh, &v))
		return 1;
	v.version++;
	return glock_lvb_write(&gh, &v);
}

int main(void)
{
	struct glock_ops ops = {.size = sizeof(ops), .inval = lost};
	struct glock_type_options watched = {
	    .size = sizeof(watched), .type = GLOCK_INODE, .ops = &ops, .flags = GLOCK_OPS_LVB};
	struct glock_type_options plain = {
	    .size = sizeof(plain), .type = GLOCK_INODE, .flags = GLOCK_OPS_LVB};
	struct glock_space_options o = {.size = sizeof(o), .types = &watched, .n_types = 1};
	struct glock_space *watcher, *other; /* usually two processes */
	struct glock *gl, *its;

	if (sem_init(&changed, 0, 0) || glock_space_open("things", &o, &watcher))
		return 1;
	o.types = &plain;
	if (glock_space_open("things", &o, &other) || glock_get(watcher, GLOCK_INODE, 1, &gl) ||
	    glock_get(other, GLOCK_INODE, 1, &its) || see(gl))
		return 1;
	for (int i = 0; i < 2; i++) {
		if (change(its))
			return 1;
		sem_wait(&changed);
		if (see(gl))
			return 1;
	}
	glock_put(gl);
	glock_put(its);
	return glock_space_close(watcher) || glock_space_close(other);
}
