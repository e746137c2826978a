/* SPDX-License-Identifier: MIT */
/*
 * allocator.c - takes blocks from a group that is free now. Several processes use the 32 groups.
 *
 * Each group has a file, DIR/N, with the number of blocks that are taken. The glock of the group
 * guards the file. glock_choose() picks the group. Start several processes with the same DIR: each
 * finds groups of its own, and no block gets lost.
 *
 *	./allocator DIR BLOCKS [GROUPS [SIZE]]
 *
 * GROUPS: 1 to 32. SIZE: blocks of a group; a full group is left out.
 */
#include <errno.h>
#include <fcntl.h>
#include <glock-choose.h>
#include <glock.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MAX = 32 };
#define PATIENCE_NS 50000000 /* then another group may be better */

static struct glock *groups[MAX]; /* NULL: the group is full */
static size_t n_groups = MAX;
static long size = 1000000;
static int dir;

static int64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ll + ts.tv_nsec;
}

/* Waits for a group, but not for ever, because its holder may keep it. */
static int wait_for(struct glock_holder *gh, struct glock *group)
{
	int err;

	glock_holder_init(gh, group, GLOCK_EX, GLOCK_ASYNC);
	err = glock_nq(gh);
	if (!err)
		err = glock_wait(gh, now_ns() + PATIENCE_NS, 0);
	if (err == -ETIMEDOUT)
		glock_dq(gh); /* the library remembers the failure */
	return err;
}

/* Gets a group. Returns its index, or a negative error; -ENOSPC: all groups are full. */
static int get_group(struct glock_holder *gh)
{
	int i, err;

	do {
		i = glock_choose(n_groups, groups, GLOCK_EX, GLOCK_CHOOSE_TRY);
		if (i >= 0) {
			glock_holder_init(gh, groups[i], GLOCK_EX, GLOCK_TRY);
			err = glock_nq(gh);
		} else if (i == -EAGAIN) { /* no try may succeed: wait for the best group */
			i = glock_choose(n_groups, groups, GLOCK_EX, 0);
			err = i < 0 ? i : wait_for(gh, groups[i]);
		} else {
			return i == -EINVAL ? -ENOSPC : i; /* each entry is NULL */
		}
	} while (err == -EBUSY || err == -EAGAIN || err == -ETIMEDOUT);
	return err ? err : i;
}

/* Adds 1 to the number in the file of the group. Returns the block, or a negative error. */
static long take_block(int group)
{
	char name[16], text[24] = "";
	long block = -EIO;
	int fd;

	snprintf(name, sizeof(name), "%d", group);
	fd = openat(dir, name, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
	if (fd < 0)
		return -errno;
	if (pread(fd, text, sizeof(text) - 1, 0) >= 0)
		block = atol(text);
	if (block >= size) {
		block = -ENOSPC;
	} else if (block >= 0) {
		snprintf(text, sizeof(text), "%-20ld\n", block + 1);
		if (pwrite(fd, text, strlen(text), 0) < 0)
			block = -errno;
	}
	close(fd);
	return block;
}

static int allocate(long blocks, unsigned long *taken)
{
	while (blocks > 0) {
		struct glock_holder gh;
		int group = get_group(&gh);
		long block;

		if (group < 0)
			return group;
		block = take_block(group);
		glock_dq(&gh);
		if (block == -ENOSPC) {
			glock_put(groups[group]);
			groups[group] = NULL;
			continue;
		}
		if (block < 0)
			return (int)block;
		taken[group]++;
		blocks--;
	}
	return 0;
}

int main(int argc, char **argv)
{
	unsigned long taken[MAX] = {0};
	struct glock_space *space = NULL;
	int err;

	if (argc < 3 || argc > 5) {
		fprintf(stderr, "usage: %s DIR BLOCKS [GROUPS [SIZE]]\n", argv[0]);
		return 2;
	}
	n_groups = argc > 3 ? (size_t)atoi(argv[3]) : MAX;
	size = argc > 4 ? atol(argv[4]) : size;
	dir = open(argv[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0 || !n_groups || n_groups > MAX) {
		fprintf(stderr, "allocator: %s: %s\n", argv[1],
			dir < 0 ? strerror(errno) : "GROUPS is from 1 to 32");
		return 1;
	}
	err = glock_space_open("allocator", NULL, &space);
	for (size_t i = 0; !err && i < n_groups; i++)
		err = glock_get(space, GLOCK_INODE, i, &groups[i]);
	if (!err)
		err = allocate(atol(argv[2]), taken);
	if (err)
		fprintf(stderr, "allocator: %s\n", strerror(-err));
	for (size_t i = 0; i < n_groups; i++) {
		if (taken[i])
			printf("group %zu: %lu blocks\n", i, taken[i]);
		if (groups[i])
			glock_put(groups[i]);
	}
	return (space && glock_space_close(space)) || err;
}
