/* SPDX-License-Identifier: MIT */
/* closing.c - glock_space_close() writes back. A process that ends without close loses changes. */
#include <errno.h>
#include <glock.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static int write_back(struct glock *gl, enum glock_mode to, unsigned int sync)
{
	(void)gl, (void)to;
	if (sync)
		puts("  write back");
	return 0;
}

static void drop(struct glock *gl, unsigned int what)
{
	(void)gl, (void)what;
	puts("  drop");
}

static void print_message(void *arg, const char *message)
{
	(void)arg;
	printf("  %s\n", message);
}

/* Opens the space, and takes the lock in EX once. */
static int open_and_take(struct glock_space **space, struct glock **gl, int *died)
{
	struct glock_ops ops = {.size = sizeof(ops), .xmote_th = write_back, .inval = drop};
	struct glock_type_options t = {.size = sizeof(t), .type = GLOCK_INODE, .ops = &ops};
	struct glock_space_options o = {
	    .size = sizeof(o), .types = &t, .n_types = 1, .log = print_message};
	struct glock_holder gh;
	int err = glock_space_open("closing", &o, space);

	if (err)
		return err;
	err = glock_get(*space, GLOCK_INODE, 1, gl);
	if (err)
		return err;
	err = glock_lock(*gl, GLOCK_EX, &gh);
	if (err)
		return err;
	*died = glock_owner_died(&gh);
	return glock_unlock(&gh);
}

int main(void)
{
	struct glock_space *space;
	struct glock *gl;
	int died, err;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (open_and_take(&space, &gl, &died))
		return 1;
	puts("glock_sync:");
	if (glock_sync(gl))
		return 1;
	err = glock_space_close(space);
	printf("close with a referenced glock: %s\n", err == -EBUSY ? "-EBUSY" : "?");
	glock_put(gl);
	puts("close after glock_put():");
	printf("  close returns %d\n", glock_space_close(space));

	puts("a child ends without close:");
	if (fork() == 0)
		exit(open_and_take(&space, &gl, &died) ? 1 : 0);
	wait(NULL);
	if (open_and_take(&space, &gl, &died))
		return 1;
	printf("  the next holder: glock_owner_died() returns %d\n", died);
	glock_put(gl);
	puts("close:");
	return glock_space_close(space) ? 1 : 0;
}
