/* SPDX-License-Identifier: MIT */
/* page_cache.c - two nodes cache pages of one file, each page under its own glock. */
#include <errno.h>
#include <fcntl.h>
#include <glock.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { PAGE = 4096 };

struct page {
	int dirty;
	char bytes[PAGE];
};

static int fd;

/* The object of a glock is the cached page. */
static int read_in(struct glock_holder *gh)
{
	struct glock *gl = glock_of(gh);
	struct page *p = glock_object(gl) ? glock_object(gl) : calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	printf("  reads page %d\n", (int)glock_number(gl));
	glock_set_object(gl, p);
	return pread(fd, p->bytes, PAGE, (off_t)glock_number(gl) * PAGE) < 0 ? -EIO : 0;
}

static int write_back(struct glock *gl, enum glock_mode to, unsigned int sync)
{
	struct page *p = glock_object(gl);

	(void)to;
	if (!p || !p->dirty || !sync)
		return 0;
	printf("  writes page %d\n", (int)glock_number(gl));
	p->dirty = pwrite(fd, p->bytes, PAGE, (off_t)glock_number(gl) * PAGE) != PAGE;
	return p->dirty ? -EIO : 0;
}

/* Another node is going to write: the page in memory will be old. */
static void drop(struct glock *gl, unsigned int what)
{
	(void)what;
	free(glock_object(gl));
	glock_set_object(gl, NULL);
}

static int use(struct glock_space *node, uint64_t number, enum glock_mode mode)
{
	struct glock_holder gh;
	struct glock *gl;
	struct page *p;
	int err = glock_get(node, GLOCK_INODE, number, &gl);

	if (err)
		return err;
	err = glock_lock(gl, mode, &gh);
	if (!err) {
		p = glock_object(gl);
		if (mode == GLOCK_EX)
			p->bytes[0]++, p->dirty = 1;
		printf("  page %d has %d\n", (int)number, p->bytes[0]);
		glock_unlock(&gh);
	}
	glock_put(gl); /* the page stays in memory */
	return err;
}

int main(void)
{
	struct glock_ops ops = {
	    .size = sizeof(ops), .instantiate = read_in, .xmote_th = write_back, .inval = drop};
	struct glock_type_options t = {.size = sizeof(t), .type = GLOCK_INODE, .ops = &ops};
	struct glock_space_options o = {.size = sizeof(o), .types = &t, .n_types = 1};
	struct glock_space *one, *two; /* nodes; usually two processes */

	fd = open("pages", O_RDWR | O_CREAT | O_TRUNC, 0666);
	if (fd < 0 || glock_space_open("pages", &o, &one) || glock_space_open("pages", &o, &two))
		return 1;
	puts("node 1 changes page 1 twice:");
	if (use(one, 1, GLOCK_EX) || use(one, 1, GLOCK_EX))
		return 1;
	puts("node 2 reads page 2, and then page 1:");
	if (use(two, 2, GLOCK_SH) || use(two, 1, GLOCK_SH))
		return 1;
	puts("node 1 reads page 1:");
	if (use(one, 1, GLOCK_SH))
		return 1;
	return glock_space_close(one) || glock_space_close(two);
}
