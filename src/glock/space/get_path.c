/* SPDX-License-Identifier: MIT */
/*
 * get_path.c - gets the lock of a file by its path, and opens the space for it.
 */
#include "open.h"

#include "glock-path.h"
#include "glock/path/path.h"
#include "glock/state/cache.h"
#include "glock/state/find.h"
#include "lockman/local/local_file.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

/* ---- the spaces of calls with space NULL ---- */

struct own_space {
	struct own_space *next;
	struct glock_space *space;
	char group[]; /* or "" */
};

static pthread_mutex_t own_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t own_once = PTHREAD_ONCE_INIT;
static struct own_space *own_spaces; /* under own_lock */

static void own_remove(struct own_space **at)
{
	struct own_space *own = *at;

	*at = own->next;
	free(own);
}

/* Gives idle locks back. Otherwise later holders would be told of a death. */
static void own_close(void)
{
	if (!glock__generation() || glock__tls()->id.spinlocked)
		return;
	pthread_mutex_lock(&own_lock);
	while (own_spaces) {
		struct glock_space *space = own_spaces->space;

		space->log = NULL; /* -EBUSY is no mistake: the program has a lock to the end */
		(void)glock_space_close(space);
		own_remove(&own_spaces);
	}
	pthread_mutex_unlock(&own_lock);
}

/* Another thread of the parent may have had the mutex. */
static void own_forked(void)
{
	own_lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	while (own_spaces)
		own_remove(&own_spaces);
}

static void own_watch(void)
{
	(void)pthread_atfork(NULL, NULL, own_forked);
	(void)atexit(own_close);
}

/* Tells whether the flock has to do without a space: other errors are mistakes of the program. */
static bool may_do_without(int err)
{
	return err != -EINVAL && err != -ENOMEM && err != -EMFILE && err != -ENFILE &&
	       err != -EAGAIN;
}

static int own_open(const struct glock_path_options *o, struct glock_space **space)
{
	struct glock_space_options so = {.size = sizeof(so),
					 .lockman = "local",
					 .group = o->group,
					 .log = o->log,
					 .log_arg = o->log_arg};
	int err = glock_space_open("paths", &so, space);

	if (!err || !may_do_without(err))
		return err;
	so.lockman = "none";
	if (glock_space_open("paths", &so, space))
		return err;
	glock__log(*space,
		   "space paths cannot be used (%s): locks by path go on by flock alone, "
		   "without a queue",
		   strerror(-err));
	return 0;
}

/* Under own_lock. */
static int own_space(const struct glock_path_options *o, struct glock_space **space)
{
	const char *group = o->group ? o->group : "";
	struct own_space **at = &own_spaces, *own;
	int err;

	while (*at && strcmp((*at)->group, group))
		at = &(*at)->next;
	if (*at && atom_load8(&(*at)->space->withdrawn)) {
		own_remove(at); /* its file was removed; the program may still have locks there */
	} else if (*at) {
		*space = (*at)->space;
		return 0;
	}
	own = malloc(sizeof(*own) + strlen(group) + 1);
	err = own ? own_open(o, space) : -ENOMEM;
	if (err) {
		free(own);
		return err;
	}
	*own = (struct own_space){own_spaces, *space};
	strcpy(own->group, group);
	own_spaces = own;
	return 0;
}

/* ---- the number ---- */

static uint64_t mix(uint64_t h, const void *bytes, size_t n)
{
	for (const unsigned char *b = bytes; n; n--, b++)
		h = (h ^ *b) * 0x100000001b3ull;
	return h ^ h >> 29;
}

/* Stores the number that follows from the folder, the name and the flags. */
static int path_number(const struct glock_space *space, const char *real, unsigned int flags,
		       uint64_t *number)
{
	const char *name = strrchr(real, '/') + 1;
	char *folder = strndup(real, (size_t)(name - real));
	struct stat st;
	int err = !folder ? -ENOMEM : stat(folder, &st) ? -errno : 0;
	uint64_t id[3] = {0, 0, flags};

	free(folder);
	if (err)
		return err;
	/* A file system has another device number on each machine. */
	id[0] = strcmp(space->lm->ops->name, "dlm") ? st.st_dev : 0;
	id[1] = st.st_ino;
	*number = mix(mix(0xcbf29ce484222325ull, id, sizeof(id)), name, strlen(name));
	return 0;
}

/* ---- the call ---- */

/* Refuses a glock without a flock, if the lock manager does not reach all users of the file. */
static int check_file_system(struct glock_space *space, const char *real)
{
	char *folder = strndup(real, (size_t)(strrchr(real, '/') + 1 - real));
	int err = !folder ? -ENOMEM : 0;
	const char *shared = NULL;
	struct statfs fs;

	if (!err && statfs(folder, &fs))
		err = -errno;
	free(folder);
	if (!err && strcmp(space->lm->ops->name, "dlm"))
		shared = glock__local_shared_fs((uint32_t)fs.f_type);
	if (!shared)
		return err;
	glock__log(
	    space,
	    "%s is on %s, which other machines share: drop GLOCK_PATH_NO_INTEROP, or use lock "
	    "manager dlm",
	    real, shared);
	return -EMEDIUMTYPE;
}

/* Takes `real`. */
static int get_real(struct glock_space *space, char *real, const struct glock_path_options *o,
		    struct glock **gl, const char *where)
{
	const bool alone = o->flags & GLOCK_PATH_NO_INTEROP;
	uint64_t number = 0;
	int err = path_number(space, real, o->flags, &number);

	if (!err && alone)
		err = check_file_system(space, real);
	if (!err && alone)
		err = glock_get_at(space, o->type ? o->type : GLOCK_INODE, number, gl, where);
	else if (!err)
		err = glock__get_path(space, number, gl, where);
	if (err || alone) {
		free(real);
		return err;
	}
	atom_store8(&space->has_paths, true);
	err = glock__path_attach(*gl, real, o->flags & GLOCK_PATH_FCNTL);
	if (err) {
		glock_put(*gl);
		*gl = NULL;
	}
	return err;
}

static int get_in(struct glock_space *space, const char *path, const struct glock_path_options *o,
		  struct glock **gl, const char *where)
{
	int err = glock__check(space, "glock_get_path");
	char *real;

	if (err)
		return err;
	if (!space->types[GLOCK_RESERVED].path) {
		glock__log(space,
			   "space %s: glock_get_path() at %s: the options of the space have an "
			   "entry for type 0, which is that of locks by path; drop the entry",
			   space->name, where);
		return -EINVAL;
	}
	err = glock__path_resolve(path, &real);
	return err ? glock__path_say(space, path, false, err) : get_real(space, real, o, gl, where);
}

/* Takes the options of the program, or none. */
static int take_options(const struct glock_path_options *from, struct glock_path_options *o)
{
	*o = (struct glock_path_options){.size = sizeof(*o)};
	if (!from)
		return 0;
	if (from->size < GLOCK__FIRST_SIZE(glock_path_options, log_arg))
		return -EINVAL;
	memcpy(o, from, from->size < sizeof(*o) ? from->size : sizeof(*o));
	if (glock__unknown_member(from, from->size, sizeof(*o)))
		return -E2BIG;
	/* Each flag alone, and the type with NO_INTEROP only. */
	return o->flags > GLOCK_PATH_NO_INTEROP || (o->type && o->flags != GLOCK_PATH_NO_INTEROP)
		   ? -EINVAL
		   : 0;
}

int glock_get_path_at(struct glock_space *space, const char *path,
		      const struct glock_path_options *options, struct glock **gl,
		      const char *where)
{
	struct glock_path_options o;
	int err = path ? take_options(options, &o) : -EINVAL;

	if (err)
		return err;
	if (space)
		return get_in(space, path, &o, gl, where);
	pthread_once(&own_once, own_watch);
	pthread_mutex_lock(&own_lock);
	err = own_space(&o, &space);
	if (!err)
		err = get_in(space, path, &o, gl, where);
	pthread_mutex_unlock(&own_lock);
	return err;
}
