/* SPDX-License-Identifier: MIT */
/*
 * space.c - joins a space as a node, and explains a failure.
 */
#include "cli.h"

#include "glock-path.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

bool cli_quiet;
static bool said; /* the library printed the cause, so the program does not repeat it */

/*
 * The last two messages that were not printed. A withdrawal logs its cause first, and then itself.
 */
static char kept[2][512];
static pthread_mutex_t kept_lock = PTHREAD_MUTEX_INITIALIZER;

static void space_keep(const char *message)
{
	if (!strncmp(message, "fsid=", 5))
		return; /* a dump of the glock comes after its cause, and would push the cause out
			 */
	pthread_mutex_lock(&kept_lock);
	memcpy(kept[0], kept[1], sizeof(kept[0]));
	snprintf(kept[1], sizeof(kept[1]), "%s", message);
	pthread_mutex_unlock(&kept_lock);
}

void say_kept(void)
{
	pthread_mutex_lock(&kept_lock);
	for (int i = 0; i < 2; i++) {
		if (*kept[i])
			complain("%s", kept[i]);
		*kept[i] = '\0';
	}
	pthread_mutex_unlock(&kept_lock);
}

/* Any thread may call this. */
static void log_message(void *arg, const char *message)
{
	(void)arg;
	said = true;
	if (cli_quiet)
		space_keep(message);
	else
		complain("%s", message);
}

int status_of(int err)
{
	switch (-err) {
	case EINVAL:
	case ENAMETOOLONG:
	case EPROTONOSUPPORT:
		return EX_USAGE;
	case EACCES:
	case EPERM:
		return EX_NOPERM;
	case EROFS:
	case ENOSPC:
	case EDQUOT:
	case EFBIG:
		return EX_CANTCREAT;
	case EMEDIUMTYPE: /* the file is not a space */
		return EX_NOINPUT;
	default:
		return EX_OSERR;
	}
}

int open_space(const char *name, const char *lockman, const char *group, unsigned int flags,
	       const struct glock_type_options *types, size_t n_types, struct glock_space **space)
{
	struct glock_space_options options = {
	    .size = sizeof(options),
	    .lockman = lockman,
	    .group = group,
	    .flags = flags,
	    .types = types,
	    .n_types = n_types,
	    .log = log_message,
	};
	int err;

	said = false;
	err = glock_space_open(name, &options, space);
	if (!err)
		return 0;
	if (!said)
		complain("cannot open space %s: %s", name, strerror(-err));
	return status_of(err);
}

int open_path(struct glock_space *space, const char *path, const char *group, struct glock **gl)
{
	const struct glock_path_options options = {
	    .size = sizeof(options), .group = group, .log = log_message};
	int err;

	said = false;
	err = glock_get_path(space, path, &options, gl);
	if (!err)
		return 0;
	if (!said)
		complain("cannot lock %s: %s", path, strerror(-err));
	return err == -ENOENT ? EX_NOINPUT : status_of(err);
}
