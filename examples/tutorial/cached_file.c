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

static int fd, cached, dirty;
static char text[17];

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

/* Runs next: another process may change the file from now on. */
static void drop(struct glock *gl, unsigned int what)
{
	(void)gl, (void)what;
	cached = 0;
}

int main(int argc, char **argv)
{
	struct glock_ops ops = {.size = sizeof(ops), .xmote_th = write_back, .inval = drop};
	struct glock_type_options t = {.size = sizeof(t), .type = GLOCK_INODE, .ops = &ops};
	struct glock_space_options o = {.size = sizeof(o), .types = &t, .n_types = 1};
	struct glock_space *space;
	struct glock *gl;

	fd = open(argc > 1 ? argv[1] : "number", O_RDWR | O_CREAT, 0666);
	if (fd < 0 || glock_space_open("counting", &o, &space) ||
	    glock_get(space, GLOCK_INODE, 1, &gl))
		return 1;
	for (int i = 0; i < 1000; i++) {
		GLOCK_SCOPE struct glock_holder gh = GLOCK_HOLDER_NONE; /* its end lets go */

		glock_holder_init(&gh, gl, GLOCK_EX, 0);
		if (glock_nq(&gh))
			return 1;
		if (!cached && (puts("reads the file") < 0 || pread(fd, text, 16, 0) < 0))
			return 1;
		cached = dirty = 1;
		snprintf(text, sizeof(text), "%15d\n", atoi(text) + 1);
	}
	glock_put(gl);
	return glock_space_close(space) || dirty; /* still dirty: the write failed */
}
