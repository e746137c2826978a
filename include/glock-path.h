/* SPDX-License-Identifier: MIT */
/*
 * glock-path.h - locks by file path, which exclude users of flock(2), too.
 *
 * glock.h is the manual of the library, and explains its words. docs/paths.md has a program, and a
 * table of the users that such a lock excludes.
 *
 *	struct glock *gl;
 *	int err = glock_get_path(NULL, "/srv/app.conf", NULL, &gl);
 *	...
 *	err = glock_lock(gl, GLOCK_EX, &gh);
 */
#ifndef GLOCK_PATH_H
#define GLOCK_PATH_H

#include <glock.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/* Excludes users of fcntl(2) and lockf(3), too, by an OFD lock. The file must be writable. */
#define GLOCK_PATH_FCNTL 0x1u
/* Takes no flock: only users of the same space are excluded, and a cached lock needs no call. */
#define GLOCK_PATH_NO_INTEROP 0x2u

struct glock_path_options {
	size_t size;        /* sizeof(struct glock_path_options) */
	unsigned int flags; /* GLOCK_PATH_ */
	unsigned int type;  /* with NO_INTEROP: the type of the glock; 0: GLOCK_INODE */
	/* For space NULL, as in struct glock_space_options. The log of the first call stays. */
	const char *group;
	void (*log)(void *arg, const char *message);
	void *log_arg;
};

/*
 * Gets the lock of the file with that path, with a reference in *gl that lasts until glock_put().
 * The file is a regular file or a folder. The function makes the file if it does not exist, and
 * follows links once. Waits for the file system.
 *
 * A holder also has a flock on the file, in the mode of the holder, until glock_dq(). If a program
 * replaced or unlinked the file, the next holder has the flock of the file that has the path then.
 * A flock of another program counts as a holder of another node. The lock does not carry the right
 * to cache, because other programs tell nothing before they change the file. SKIP does not skip the
 * flock, NOBLOCK is refused, and the value block belongs to the library.
 *
 * With FCNTL the descriptor is open for writing, and stays open until glock_put(), because its
 * close is an inotify event. Requests with FCNTL and without it have two queues.
 *
 * With NO_INTEROP *gl is a glock of options->type, whose number follows from the path. No file is
 * made. All users of the path have to use NO_INTEROP. The lock carries the right to cache. On a
 * file system of several machines that is refused, unless the lock manager is dlm.
 *
 * space NULL stands for a space of this user, or of `group`, which all such calls share. If that
 * space cannot be used, the function logs this and goes on without a queue. Users meet by the
 * flock.
 *
 * fork() and exec close the file in the child, so a child keeps no lock of its parent. The child
 * gets -ECHILD. A program that becomes a daemon calls fork() or daemon() first, and locks then. If
 * the program closes the descriptor of the file, glock_valid() returns 0.
 *
 * The errors of glock_space_open() and glock_get(), and these, which glock_nq() returns, too:
 *   -EINVAL                           neither a regular file nor a folder; or wrong options
 *   -E2BIG                            options of a later version
 *   -EACCES, -EPERM, -EROFS, -ENOENT, -ENOTDIR, -ELOOP   the log names the file and the way out
 *   -EMFILE, -ENFILE                  too many open files
 *   -EMEDIUMTYPE                      NO_INTEROP, but other machines share the file system
 */
#define glock_get_path(space, path, options, gl) \
	glock_get_path_at(space, path, options, gl, GLOCK_HERE)
int glock_get_path_at(struct glock_space *space, const char *path,
		      const struct glock_path_options *options, struct glock **gl,
		      const char *where);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
