/* SPDX-License-Identifier: MIT */
/*
 * count.c - a node of a space, with the glock.h of an older version; for test_upgrade.py.
 *
 * Usage: count SPACE FILE. Reads commands from standard input, and answers each with a line:
 *	open		opens the space
 *	lock		takes the lock in EX
 *	try		takes the lock in EX, if the library gives it immediately
 *	unlock		gives the lock back
 *	count N		N times: takes the lock, adds 1 to the number in FILE, gives the lock back
 *	close		closes the space
 * The answer is 0 or a negative errno. Messages of the library go to standard error.
 */
#include "glock.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct glock_space *space;
static struct glock *gl;
static struct glock_holder gh;
static int file;

static void on_log(void *arg, const char *message)
{
	(void)arg;
	fprintf(stderr, "%s\n", message);
}

static int do_open(const char *name)
{
	const struct glock_space_options options = {
	    .size = sizeof(options), .lockman = "local", .log = on_log};
	int err = glock_space_open(name, &options, &space);

	return err ? err : glock_get(space, GLOCK_INODE, 1, &gl);
}

static int do_lock(unsigned int flags)
{
	int err;

	glock_holder_init(&gh, gl, GLOCK_EX, flags);
	err = glock_nq(&gh);
	return err;
}

/*
 * Adds 1 to the number. The file also has the token of the last holder. A smaller token means that
 * the versions give tokens of different sequences: -EBADE.
 */
static int add_one(void)
{
	char text[64] = "";
	unsigned long long number = 0;
	uint64_t token, last = 0;
	int err, len;

	err = glock_token(&gh, &token);
	if (err || pread(file, text, sizeof(text) - 1, 0) < 0)
		return err ? err : -errno;
	if (*text && sscanf(text, "%llu %" SCNu64, &number, &last) != 2)
		return -EBADMSG;
	if (token < last)
		return -EBADE;
	len = snprintf(text, sizeof(text), "%20llu %20" PRIu64 "\n", number + 1, token);
	return pwrite(file, text, (size_t)len, 0) == len ? 0 : -EIO;
}

static int do_count(unsigned long n)
{
	int err = 0;

	for (unsigned long i = 0; i < n && !err; i++) {
		err = do_lock(0);
		if (err)
			break;
		err = add_one();
		glock_dq(&gh);
	}
	return err;
}

static int do_close(void)
{
	glock_put(gl);
	gl = NULL;
	return glock_space_close(space);
}

static int command(const char *line, const char *name)
{
	if (!strcmp(line, "open\n"))
		return do_open(name);
	if (!strcmp(line, "close\n"))
		return do_close();
	if (!gl)
		return -EINVAL;
	if (!strcmp(line, "lock\n"))
		return do_lock(0);
	if (!strcmp(line, "try\n"))
		return do_lock(GLOCK_TRY);
	if (!strcmp(line, "unlock\n")) {
		glock_dq(&gh);
		return 0;
	}
	return strncmp(line, "count ", 6) ? -EINVAL : do_count(strtoul(line + 6, NULL, 10));
}

int main(int argc, char **argv)
{
	char line[64];

	if (argc != 3)
		return 2;
	file = open(argv[2], O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (file < 0)
		return 1;
	while (fgets(line, sizeof(line), stdin)) {
		printf("%d\n", command(line, argv[1]));
		fflush(stdout);
	}
	return 0;
}
