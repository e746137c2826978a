/* SPDX-License-Identifier: MIT */
/*
 * run_lock.c - takes the lock of `glock run` and `glock hold`, and lets others see its user.
 */
#include "glock/base/tls.h"
#include "glock/path/path.h"
#include "glock/publish/publish_space.h"

#include "base/clean.h"
#include "run.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/syscall.h>
#include <unistd.h>

void run_set_command(struct run *r, const char *command)
{
	r->command = command;
	if (r->file) /* the last part of the path, so that the command has room */
		snprintf(r->what, sizeof(r->what), "%.40s: %s", basename(r->file), command);
	else
		snprintf(r->what, sizeof(r->what), "%s: %s", r->name, command);
	glock__clean(r->what, strlen(r->what));
}

/*
 * A node that caches the lock without a user gives it up. A node that does not answer is asked for
 * up to one second: a stopped process, or one with "dlm". Its file may show that it uses the lock.
 */
#define CACHED_NS 1000000000

static int nonblock(struct run *r)
{
	const int64_t end = glock__clock() + CACHED_NS;
	int err;

	glock_holder_init(&r->gh, r->gl, r->mode, GLOCK_TRY | GLOCK_NOCACHE);
	do {
		err = glock_nq_at(&r->gh, r->what);
		if (err == -EAGAIN && lock_is_used(r->space, r->gl))
			err = -EBUSY;
	} while (err == -EAGAIN && glock__clock() < end);
	return err;
}

static int acquire(struct run *r)
{
	int64_t start = glock__clock();
	int err;

	if (r->no_wait || !r->timeout) {
		err = nonblock(r);
	} else {
		glock_holder_init(&r->gh, r->gl, r->mode, GLOCK_ASYNC | GLOCK_NOCACHE);
		err = glock_nq_at(&r->gh, r->what);
		if (!err)
			err = glock_wait(&r->gh, r->timeout < 0 ? 0 : start + r->timeout, 0);
	}
	if (!err && r->verbose)
		complain("getting the lock took %.6f seconds",
			 1e-9 * (double)(glock__clock() - start));
	return err;
}

/* Publishes the name, in the form that o2top knows. A name of the form TYPE:NUMBER is none. */
static void name_dump(struct glock *gl, glock_print_fn *print, void *to)
{
	const struct run *r = glock_object(gl);
	char line[GLOCK__SEGMENT_OBJECT];
	unsigned int type;
	uint64_t number;
	int len;

	if (!r || name_is_number(r->name, &type, &number))
		return;
	len = snprintf(line, sizeof(line), " P: %.240s", r->name);
	glock__clean(line, (size_t)len);
	line[len++] = '\n';
	print(to, line, (size_t)len);
}

static const struct glock_ops name_ops = {.size = sizeof(name_ops), .dump = name_dump};

/* Lets others see CMD as the command of the holder. */
static void name_holder(struct run *r)
{
	char *name = glock__tls()->id.name;

	glock__thread_name(); /* reads the name, once */
	glock_set_object(r->gl, r);
	snprintf(name, sizeof(glock__tls()->id.name), "%.15s", r->command);
	glock__clean(name, strlen(name));
}

static int run_failed(const struct run *r, int err)
{
	say_kept();
	complain("lock %s in space %s: %s", r->name, r->space_name, strerror(-err));
	return err == -EIO || err == -ENOLCK || err == -ENOMEM ? EX_OSERR : EX_DATAERR;
}

/* Joins the space of the name, and gets the lock. Returns 0, or the exit status. */
static int get_name(struct run *r)
{
	/* A type of a program's own, as in 10:5, is known only to a space that was opened with it.
	 */
	struct glock_type_options own = {.size = sizeof(own), .ops = &name_ops};
	uint64_t number;
	int err, status;

	if (!name_to_glock(r->name, &own.type, &number))
		return usage_error(
		    "%s: no such glock; before the colon stands inode, flock or another type of "
		    "GFS2, or a number below 32; another separator than : makes it a name",
		    r->name);
	status = open_space(r->space_name, r->lockman, r->group, 0, &own, 1, &r->space);
	if (status)
		return status;
	if (r->no_fork && glock__alive_fd(r->space) < 0)
		return usage_error("-F: lock manager %s cannot hand the lock over to CMD; drop -F",
				   r->space->lm->ops->name);
	say_others(r->space);
	err = glock_get(r->space, own.type, number, &r->gl);
	return err ? run_failed(r, err) : 0;
}

/* The same with --file. Without --lockman the space belongs to the library. */
static int get_file(struct run *r)
{
	int status = 0;

	if (r->lockman)
		status = open_space(r->space_name, r->lockman, r->group, 0, NULL, 0, &r->space);
	if (!status)
		status = open_path(r->space, r->file, r->group, &r->gl);
	if (!status)
		r->space = gl_space(r->gl);
	return status;
}

int run_get(struct run *r)
{
	return r->file ? get_file(r) : get_name(r);
}

int run_lock(struct run *r)
{
	int status = run_get(r), err;

	if (status)
		return status;
	cli_quiet = !r->verbose; /* flock(1) does not report a wait, either */
	name_holder(r);
	err = acquire(r);
	if (!err)
		return -1;
	if (err == -EAGAIN || err == -EBUSY || err == -ETIMEDOUT) {
		if (r->verbose)
			complain(err == -EBUSY ? "another process has the lock"
				 : err == -EAGAIN
				     ? "no user of the lock is known, but the lock did not come"
				     : "timeout while waiting for the lock");
		if (r->verbose)
			say_holders(r->space, r->gl, r->file);
		return err == -EAGAIN && r->unknown >= 0 ? r->unknown : r->conflict;
	}
	return run_failed(r, err);
}

void run_unlock(struct run *r)
{
	if (r->again)
		run_unlock(r->again);
	free(r->again);
	if (r->gl) {
		glock_dq(&r->gh); /* does nothing for a holder that is not queued any more */
		glock_put(r->gl);
	}
	if (r->space && (!r->file || r->lockman))
		glock_space_close(r->space);
}

/* Returns the lock that is taken last. */
static struct run *newest(struct run *r)
{
	while (r->again)
		r = r->again;
	return r;
}

/* Tells whether the name of the space's file leads to this file. */
static bool is_there(const struct run *r)
{
	const struct glock__lm_files *files = r->space->lm->files;

	return !files || !files->is_there || files->is_there(r->space->lm);
}

const char *run_take_again(void *arg)
{
	struct run *r = newest(arg), *again;

	if (is_there(r))
		return space_path(r->space);
	again = malloc(sizeof(*again));
	if (!again)
		return NULL;
	*again = *r;
	again->gl = NULL;
	again->space = NULL;
	again->no_wait = true;
	again->verbose = false;
	if (run_lock(again) < 0)
		r->again = again;
	complain(
	    "the file of space %s is removed while %s runs; lock %s is %s; if systemd-logind does "
	    "this (RemoveIPC), let the user linger (loginctl enable-linger), or set GLOCK_DIR",
	    r->space_name, r->command, r->name, r->again ? "taken again in a new file" : "lost");
	if (r->again)
		return space_path(again->space);
	run_unlock(again);
	free(again);
	return NULL;
}

const char *run_watched(const struct run *r)
{
	return r->file ? NULL : space_path(r->space); /* the flock stays without a space */
}

void run_say_if_lost(struct run *run)
{
	const struct run *r = newest(run);
	const bool gone = !r->file && !is_there(r);

	if (!gone && (r->file ? glock__path_fd(r->gl) >= 0 : glock_valid(&r->gh)))
		return;
	say_kept();
	complain("lock %s in space %s was lost while %s ran%s", r->name, r->space_name, r->command,
		 gone ? ", because the space's file was removed" : "");
}

/*
 * ---- the end of a process, and the removal of a space's file ----
 *
 * logind removes a user's files in /dev/shm when the user logs out (RemoveIPC), also while a job of
 * this user runs. A later process makes a new file, in which the lock is free.
 */

enum { EVENTS_ROOM = 4096 };

int pid_open(pid_t pid)
{
	return (int)syscall(SYS_pidfd_open, pid, 0);
}

/* Watches the file, and then looks whether it was removed before. Returns the path, or NULL. */
static const char *watch_file(int watch, const char *path, changed_fn *changed, void *arg)
{
	const char *now = path;

	do {
		path = now;
		if (watch < 0 || !path)
			return NULL;
		inotify_add_watch(watch, path, IN_ATTRIB | IN_MOVE_SELF);
		now = changed(arg);
	} while (now != path);
	return path;
}

void wait_for_process(int pidfd, const char *path, changed_fn *changed, void *arg)
{
	int watch = path ? inotify_init1(IN_CLOEXEC | IN_NONBLOCK) : -1;
	struct pollfd fds[] = {{.fd = pidfd, .events = POLLIN}, {.fd = watch, .events = POLLIN}};
	char events[EVENTS_ROOM];

	path = watch_file(watch, path, changed, arg);
	while (!fds[0].revents) {
		fds[1].fd = path ? watch : -1;
		if (poll(fds, 2, -1) < 0 && errno != EINTR)
			break;
		if (fds[1].revents && read(watch, events, sizeof(events)) > 0)
			path = watch_file(watch, path, changed, arg);
		fds[1].revents = 0;
	}
	if (watch >= 0)
		close(watch);
}
