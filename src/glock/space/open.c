/* SPDX-License-Identifier: MIT */
/*
 * open.c - opens and closes a lock space. withdraw.c ends a space in other ways.
 */
#include "open.h"

#include "base/version.h"
#include "glock/base/lock.h"
#include "glock/core/hash.h"
#include "glock/core/lent.h"
#include "glock/core/space.h"
#include "glock/fast/bias.h"
#include "glock/fast/thread.h"
#include "glock/publish/publish.h"
#include "glock/publish/publish_space.h"
#include "glock/state/busy.h"
#include "glock/state/cache.h"
#include "glock/state/demote.h"
#include "glock/state/find.h"
#include "glock/state/reply.h"
#include "glock/state/work.h"
#include "lockman/dlm/dlm.h"
#include "lockman/etcd/etcd.h"
#include "lockman/local/local.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

enum { DEFAULT_WORK_THREADS = 16, NAME_BYTES = 64 };

/* ---- the seams of a real space ---- */

static uint32_t real_random(void *arg)
{
	uint32_t r = 0;

	(void)arg;
	if (getrandom(&r, sizeof(r), GRND_NONBLOCK) != sizeof(r))
		r = (uint32_t)glock__clock();
	return r;
}

static unsigned int real_cpus(void)
{
	long n = sysconf(_SC_NPROCESSORS_CONF);

	return n > 0 ? (unsigned int)n : 1;
}

static const struct glock__env real_env = {.random = real_random};

/* ---- open ---- */

static unsigned int work_threads(const struct glock_space_options *o)
{
	return o->work_threads ? (unsigned int)o->work_threads : DEFAULT_WORK_THREADS;
}

static void free_space(struct glock_space *space)
{
	glock__type_stats_free(&space->type_stats);
	glock__ring_free(space->ring);
	glock__ring_free(space->live_ring);
	for (int i = 0; i < 2; i++)
		glock__slab_end(&space->glocks[i]);
	glock__slab_end(&space->busy);
	glock__lent_end(space);
	glock__threads_end(space);
	glock__call_sites_free(space);
	glock__publisher_free(space->publisher);
	glock__get_sites_free(space->get_sites);
	glock__debug_free(space->debug);
	glock__hash_free(space);
	free(space);
}

static void init_slabs(struct glock_space *space)
{
	struct glock__mem *mem = space->env.mem;

	for (size_t lvb = 0; lvb < 2; lvb++)
		glock__slab_init(&space->glocks[lvb], sizeof(struct glock) + lvb * GLOCK_LVB_SIZE,
				 sizeof(struct glock__record), GLOCK__AREA_RECORDS, mem, space);
	/* The private part of a thread's record is unused: each object of a slab has one. */
	glock__slab_init(&space->thread_records, 512, sizeof(struct glock__thread_record),
			 GLOCK__AREA_THREADS, mem, space);
	glock__slab_init(&space->busy, sizeof(struct glock__busy),
			 sizeof(struct glock__busy_record), GLOCK__AREA_BUSY_RECORDS, mem, space);
	glock__lent_init(space);
}

static int init_type_stats(struct glock_space *space)
{
	struct glock__mem *mem = space->env.mem;
	size_t size = GLOCK_TYPE_MAX * space->env.cpus * sizeof(struct glock__cpu_record);

	return glock__type_stats_init(&space->type_stats, GLOCK_TYPE_MAX, space->env.cpus,
				      space->env.cpu,
				      mem ? mem->slab(mem, GLOCK__AREA_TYPE_STATS, size) : NULL);
}

/* Called when a child process opens its first space. */
static void space_forked(void)
{
	glock__threads_forked();
	glock__exit_forked();
}

int glock__space_open(const char *name, const struct glock_space_options *options,
		      struct glock__lockman *lm, const struct glock__env *env,
		      struct glock_space **ret)
{
	struct glock_space_options o = {0};
	struct glock_space *space = calloc(1, sizeof(*space));
	int err;

	if (!space)
		return -ENOMEM;
	memcpy(&o, options, options->size < sizeof(o) ? options->size : sizeof(o));
	err = glock__new_generation(&space->generation, space_forked);
	if (err) {
		free(space);
		return err;
	}
	glock__tls_check(space->generation);
	space->env = env ? *env : real_env;
	if (!space->env.cpus)
		space->env.cpus = real_cpus();
	space->lm = lm;
	glock__list_init(&space->order.holders);
	glock__list_init(&space->opened);
	space->leaves = 1; /* glock_withdraw() has yet to walk over the glocks */
	err = glock__options_take(space, name, &o);
	if (!err && glock__publish_open(space))
		glock__log(space,
			   "space %s: glock(1) and o2top cannot see this node, because its file "
			   "has no room; free memory, then open the space again",
			   space->name);
	init_slabs(space);
	if (!err)
		err = init_type_stats(space);
	space->fast = !(space->flags & GLOCK_SPACE_CHECK_ORDER) && !glock__tsan_there();
	glock__bias_open(space);
	if (!err)
		glock__publish_ready(space);
	lm->owner = space;
	lm->events = &glock__events;
	if (!err)
		err = glock__work_init(space, work_threads(&o), !env);
	if (!err && lm->ops->start) {
		err = lm->ops->start(lm);
		if (err)
			glock__work_stop(space);
	}
	if (err) {
		free_space(space);
		return err;
	}
	space->debug = glock__debug_of(&o);
	*ret = space;
	return 0;
}

static int new_none(const char *name, const struct glock_space_options *o,
		    struct glock__lockman **lm)
{
	(void)name, (void)o;
	*lm = glock__none_new();
	return *lm ? 0 : -ENOMEM;
}

static int new_local(const char *name, const struct glock_space_options *o,
		     struct glock__lockman **lm)
{
	const char *group = secure_getenv("GLOCK_GROUP");
	const struct glock__local_options local = {.name = name,
						   .group = o->group          ? o->group
							    : group && *group ? group
									      : NULL,
						   .dir = o->dir,
						   .log = o->log,
						   .log_arg = o->log_arg,
						   .recovers = o->recover};

	return glock__local_new(&local, lm);
}

static int new_dlm(const char *name, const struct glock_space_options *o,
		   struct glock__lockman **lm)
{
	const struct glock__dlm_options dlm = {
	    .name = name, .log = o->log, .log_arg = o->log_arg, .recovers = o->recover};

	return glock__dlm_new(&dlm, lm);
}

static int new_etcd(const char *name, const struct glock_space_options *o,
		    struct glock__lockman **lm)
{
	const struct glock__etcd_options etcd = {
	    .name = name, .log = o->log, .log_arg = o->log_arg, .recovers = o->recover};

	return glock__etcd_new(&etcd, lm);
}

static const struct {
	const char *name;
	int (*new)(const char *name, const struct glock_space_options *o,
		   struct glock__lockman **lm);
} lockmans[] = {
    {"local", new_local}, /* the usual one */
    {"none", new_none},
    {"dlm", new_dlm},
    {"etcd", new_etcd},
};

enum { LOCKMANS = sizeof(lockmans) / sizeof(*lockmans) };

static void say_unknown(const struct glock_space_options *o, const char *kind)
{
	char message[256];

	if (!o->log)
		return;
	snprintf(message, sizeof(message),
		 "%s%s: no such lock manager; try none, local, dlm or etcd",
		 o->lockman ? "" : "GLOCK_LOCKMAN=", kind);
	o->log(o->log_arg, message);
}

/* The log is there if the size reaches that far. A missing member reads as 0. */
static void say_size(const struct glock_space_options *o, size_t size)
{
	char message[128];

	if (!o->log || size < GLOCK__FIRST_SIZE(glock_space_options, log_arg))
		return;
	snprintf(message, sizeof(message),
		 "size %zu in a struct glock_space_options: set size to sizeof(struct "
		 "glock_space_options)",
		 size);
	o->log(o->log_arg, message);
}

static void say_unknown_member(const struct glock_space_options *o, size_t offset)
{
	char message[192];

	if (!o->log)
		return;
	snprintf(message, sizeof(message),
		 "struct glock_space_options has a member at offset %zu that libglock %s does not "
		 "know: set it to 0, or install a later libglock",
		 offset, GLOCK__VERSION_TEXT);
	o->log(o->log_arg, message);
}

static void say_name(const struct glock_space_options *o, const char *name)
{
	char message[128], length[32];

	if (!o->log)
		return;
	snprintf(length, sizeof(length), "has %zu", name ? strlen(name) : 0);
	snprintf(message, sizeof(message),
		 "a space's name has 1 to %d bytes, and this one %s; choose another name",
		 NAME_BYTES, name ? length : "is NULL");
	o->log(o->log_arg, message);
}

/* Makes the lock manager of the options, or of the environment, or the usual one. */
static int new_lockman(const char *name, const struct glock_space_options *o,
		       struct glock__lockman **lm)
{
	const char *kind = o->lockman ? o->lockman : secure_getenv("GLOCK_LOCKMAN");

	for (size_t i = 0; i < LOCKMANS; i++)
		if (!kind || !*kind || !strcmp(kind, lockmans[i].name))
			return lockmans[i].new(name, o, lm);
	say_unknown(o, kind);
	return -EPROTONOSUPPORT;
}

#ifdef GLOCK_ATOM_HOOKS
int (*glock__sim_open_hook)(const char *name, const struct glock_space_options *options,
			    struct glock_space **space);
void (*glock__sim_close_hook)(const struct glock_space *space);
#define SIM_CLOSED(space) (glock__sim_close_hook ? glock__sim_close_hook(space) : (void)0)
#else
#define SIM_CLOSED(space) ((void)0)
#endif

/* `size` is the size of the options that the program gave. */
static int open_with(const char *name, const struct glock_space_options *o, size_t size,
		     struct glock_space **space)
{
	struct glock__lockman *lm = NULL;
	int err;

	if (size < GLOCK__FIRST_SIZE(glock_space_options, work_threads)) {
		say_size(o, size);
		return -EINVAL;
	}
	if (!name || !*name || strnlen(name, NAME_BYTES + 1) > NAME_BYTES) {
		say_name(o, name);
		return -EINVAL;
	}
#ifdef GLOCK_ATOM_HOOKS
	if (glock__sim_open_hook)
		return glock__sim_open_hook(name, o, space);
#endif
	err = new_lockman(name, o, &lm);
	if (err)
		return err;
	err = glock__space_open(name, o, lm, NULL, space);
	if (err)
		lm->ops->free(lm);
	else
		glock__exit_add(*space);
	return err;
}

int glock_space_open(const char *name, const struct glock_space_options *options,
		     struct glock_space **space)
{
	GLOCK__NO_CANCEL;
	struct glock_space_options o = {.size = sizeof(o)};
	size_t size = options ? options->size : sizeof(o), unknown = 0;
	struct glock__debug *debug;
	int err;

	if (options) {
		memcpy(&o, options, size < sizeof(o) ? size : sizeof(o));
		unknown = glock__unknown_member(options, size, sizeof(o));
	}
	o.size = sizeof(o);
	debug = glock__debug_open(&o);
	if (unknown)
		say_unknown_member(&o, unknown);
	err = unknown ? -E2BIG : open_with(name, &o, size, space);
	if (err) {
		glock__debug_free(debug);
		return err;
	}
	if (debug && debug->fd >= 0)
		(*space)->get_sites = glock__get_sites_new();
	return 0;
}

/* ---- close ---- */

static bool any_users(struct glock_space *space)
{
	struct glock *gl = NULL;
	bool any = false;

	while (!any && (gl = glock__next(space, gl))) {
		glock__lock_take(&gl->lock);
		any = gl->users;
		glock__lock_drop(&gl->lock);
	}
	return any;
}

static void demote_one(struct glock *gl, void *arg)
{
	(void)arg;
	gl_lock(gl);
	if (gl->state != GLOCK_UN || gl->flags & GLOCK__F_LOCK)
		glock__request_demote(gl, GLOCK_UN, 0, false);
	gl_unlock(gl);
}

int glock_space_close(struct glock_space *space)
{
	GLOCK__NO_CANCEL;
	int err = glock__check(space, "glock_space_close");
	uint32_t left;
	bool busy;

	if (err)
		return err;
	/* The close would wait for its own thread. */
	if (glock__in_work() || glock__tls()->id.recovers == space)
		return -EDEADLK;
	if (glock__any_held(space)) {
		glock__log_referenced(space);
		return -EBUSY;
	}
	glock__lock_take(&space->lock);
	glock__lock_parts(space);
	atom_store8(&space->look_locked, true); /* a reference that any_users() misses */
	busy = any_users(space);
	if (!busy)
		atom_store8(&space->closing, true);
	atom_store8(&space->look_locked, !busy);
	glock__unlock_parts(space);
	glock__lock_drop(&space->lock);
	if (busy) {
		glock__log_referenced(space);
		return -EBUSY;
	}
	glock__exit_remove(space);
	glock__each(space, demote_one, NULL);
	while ((left = atom_load32(&space->alive)))
		glock__wait(space, &space->alive, left, 0);
	space->lm->ops->leave(space->lm, atom_load8(&space->withdrawn));
	glock__work_stop(space);
	space->lm->ops->free(space->lm);
	err = atom_load8(&space->write_failed) ? -EIO : 0;
	SIM_CLOSED(space);
	free_space(space);
	return err;
}

void glock__space_kill(struct glock_space *space)
{
	glock__work_stop(space);
	space->lm->ops->free(space->lm);
	free_space(space);
}

/* ---- versions ---- */

static_assert(GLOCK_VERSION == GLOCK__VERSION_NUMBER,
	      "glock.h and meson.build have the same version");

unsigned int glock_version(void)
{
	return GLOCK_VERSION;
}

int glock_supports(const char *feature)
{
	if (!feature)
		return 0;
	for (size_t i = 0; i < LOCKMANS; i++)
		if (!strncmp(feature, "lockman:", 8) && !strcmp(feature + 8, lockmans[i].name))
			return 1;
	if (!strcmp(feature, "biased"))
		return glock__bias_possible();
	if (!strcmp(feature, "probes"))
		return GLOCK__HAVE_PROBES;
	return 0;
}
