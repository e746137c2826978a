/* SPDX-License-Identifier: MIT */
/*
 * cached_file.c - several processes count in one file, and each keeps the file in memory.
 *
 *	cc cached_file.c $(pkg-config --cflags --libs glock) -o cached_file
 *	./cached_file FILE
 *
 * The program adds 1 to the number in FILE, 1000 times, and tells when it reads and writes FILE.
 * The head of glock.h shows the same program.
 */
#include <errno.h>
#include <fcntl.h>
#include <glock.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int fd, dirty;
static char text[17];

/* Runs for the first holder, and for the first one after another process had the lock. */
static int read_in(struct glock_holder *gh)
{
	(void)gh;
	puts("reads the file");
	return pread(fd, text, 16, 0) < 0 ? -EIO : 0;
}

/* Runs before another process gets the lock, and before close returns. */
static int write_back(struct glock *gl, enum glock_mode to, unsigned int sync)
{
	(void)gl, (void)to;
	if (sync && dirty) {
		puts("writes the file");
		dirty = pwrite(fd, text, 16, 0) != 16;
	}
	return dirty ? -EIO : 0;
}

int main(int argc, char **argv)
{
	struct glock_ops ops = {
	    .size = sizeof(ops), .instantiate = read_in, .xmote_th = write_back};
	struct glock_type_options t = {.size = sizeof(t), .type = GLOCK_INODE, .ops = &ops};
	struct glock_space_options o = {.size = sizeof(o), .types = &t, .n_types = 1};
	struct glock_space *space;
	struct glock *gl;
	int err = 0;

	fd = open(argc > 1 ? argv[1] : "number", O_RDWR | O_CREAT, 0666);
	if (fd < 0 || glock_space_open("counting", &o, &space) ||
	    glock_get(space, GLOCK_INODE, 1, &gl))
		return 1;
	for (int i = 0; i < 1000; i++) {
		GLOCK_SCOPE struct glock_holder gh = GLOCK_HOLDER_NONE; /* its end lets go */

		err = glock_lock(gl, GLOCK_EX, &gh);
		if (err)
			break;
		dirty = 1;
		snprintf(text, sizeof(text), "%15d\n", atoi(text) + 1);
	}
	glock_put(gl);
	/* Only close writes back what is dirty now. -EIO: a write failed. */
	return glock_space_close(space) || err;
}
