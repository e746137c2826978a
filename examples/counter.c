/* SPDX-License-Identifier: MIT */
/*
 * counter.c - a number in a file, cached in memory while no other process wants the lock.
 *
 *	cc counter.c $(pkg-config --cflags --libs glock) -o counter
 *	./counter FILE TIMES
 *
 * The program adds 1 to the number in FILE, TIMES times, and takes the lock each time. It reads the
 * file the first time only, and writes it when the lock is given back. Several programs may run at
 * once, with a lock manager that processes share (GLOCK_LOCKMAN=local): no step is lost.
 */
#include <errno.h>
#include <fcntl.h>
#include <glock.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct counter {
	int fd;
	long value;
	int dirty;
	unsigned int reads, writes;
};

/* Runs for the first holder, and for the first one after others may have changed the file. */
static int read_in(struct glock_holder *gh)
{
	struct counter *c = glock_object(glock_of(gh));
	char text[32] = "";

	if (pread(c->fd, text, sizeof(text) - 1, 0) < 0)
		return -errno;
	c->value = atol(text);
	c->reads++;
	return 0;
}

/* Runs before the lock goes: dirty data must be in the file when this returns. */
static int write_back(struct glock *gl, enum glock_mode to, unsigned int sync)
{
	struct counter *c = glock_object(gl);
	char text[32];
	int len;

	(void)to;
	if (!(sync & GLOCK_CACHES_DATA) || !c->dirty)
		return 0;
	len = snprintf(text, sizeof(text), "%20ld\n", c->value);
	if (pwrite(c->fd, text, (size_t)len, 0) != len)
		return -EIO;
	c->dirty = 0;
	c->writes++;
	return 0;
}

static int add_one(struct glock *gl, struct counter *c)
{
	struct glock_holder gh;
	int err;

	err = glock_lock(gl, GLOCK_EX, &gh);
	if (err)
		return err;
	c->value++;
	c->dirty = 1;
	return glock_unlock(&gh);
}

static void complain(void *arg, const char *message)
{
	(void)arg;
	fprintf(stderr, "counter: %s\n", message);
}

static int run(struct counter *c, const char *file, long times)
{
	static const struct glock_ops ops = {
	    .size = sizeof(ops), .instantiate = read_in, .xmote_th = write_back};
	const struct glock_type_options type = {
	    .size = sizeof(type), .type = GLOCK_INODE, .ops = &ops};
	const struct glock_space_options options = {
	    .size = sizeof(options), .types = &type, .n_types = 1, .log = complain};
	struct glock_space *space;
	struct glock *gl;
	int err, closed;

	c->fd = open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
	if (c->fd < 0)
		return -errno;
	err = glock_space_open("counter", &options, &space);
	if (err)
		return err;
	err = glock_get(space, GLOCK_INODE, 1, &gl);
	if (!err) {
		glock_set_object(gl, c);
		for (long i = 0; i < times && !err; i++)
			err = add_one(gl, c);
		glock_put(gl);
	}
	closed = glock_space_close(space); /* gives the lock back: write_back */
	return err ? err : closed;
}

int main(int argc, char **argv)
{
	struct counter c = {.fd = -1};
	int err;

	if (argc != 3) {
		fprintf(stderr, "usage: counter FILE TIMES\n");
		return 2;
	}
	err = run(&c, argv[1], atol(argv[2]));
	if (err) {
		fprintf(stderr, "counter: %s\n", strerror(-err));
		return 1;
	}
	printf("read %u times, written %u times\n", c.reads, c.writes);
	return 0;
}
