/* SPDX-License-Identifier: MIT */
/*
 * space.c - the lock spaces in which databases have their glocks.
 *
 * By default the databases of one file system share a space. A space stays open until the process
 * ends.
 */
#include "database.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

enum {
	PATH_SHOWN = 240, /* bytes of a path */
	TYPES = 3 + WAL_MARKS,
};

struct shared_space {
	struct shared_space *next;
	struct glock_space *glocks;
	unsigned int databases; /* that are open in it */
	uint32_t identity;
	_Atomic bool lost;
	char lockman[16];
	char group[64];
	char name[];
};

static struct shared_space *spaces;   /* under the registry's mutex */
static _Atomic bool quiet;            /* the library tells the log nothing */
static _Thread_local char cause[512]; /* the library's last message to this thread */

/* ---- the operations ---- */

/*
 * Names the database, in the form that o2top knows. The library publishes whole lines within 256
 * bytes, so only the end of a long path is kept. A path may have line breaks.
 */
static void dump_path(struct glock *gl, glock_print_fn *print, void *to)
{
	unsigned int type = glock_type_of(gl);
	const char *which = type == TYPE_DATA        ? ""
			    : type == TYPE_RESERVED  ? " (writers)"
			    : type == TYPE_WAL_WRITE ? " (WAL writers)"
						     : " (WAL mark)";
	const struct database *db = glock_object(gl);
	size_t len = db ? strlen(db->path) : 0;
	bool whole = len <= PATH_SHOWN;
	char line[256];
	int n = db ? snprintf(line, sizeof(line), " P: %s%s%s\n", whole ? "" : "...",
			      db->path + (whole ? 0 : len - PATH_SHOWN + 3), which)
		   : 0;

	for (int i = 0; i < n - 1; i++)
		if ((unsigned char)line[i] < ' ')
			line[i] = '?';
	if (n > 0)
		print(to, line, (size_t)n);
}

/* Another process wants the lock. A grip in SH serves readers, too. */
static void data_wanted(struct glock *gl, enum glock_mode to, int remote)
{
	struct database *db = glock_object(gl);

	if (db && remote)
		database_wanted(db, to == GLOCK_SH ? DEMAND_SH : DEMAND_ALL);
}

/* Only a grip in EX has `reserved`. */
static void reserved_wanted(struct glock *gl, enum glock_mode to, int remote)
{
	struct database *db = glock_object(gl);

	(void)to;
	if (db && remote)
		database_wanted(db, DEMAND_SH);
}

/* Another node may write from now on, so the transaction that goes on reads no more. */
static void data_lost(struct glock_holder *gh)
{
	struct database *db = glock_object(glock_of(gh));

	connection_lost(gh);
	if (!db)
		return;
	database_lost(db);
	database_forget(db);
	database_wanted(db, DEMAND_LOST);
}

/*
 * None of them may block, so the thread that ends a grip hands the lock over itself. With an
 * operation `inval` a thread of the library would have to be woken for that.
 */
static const struct glock_ops data_ops = {
    .size = sizeof(data_ops), .dump = dump_path, .callback = data_wanted, .lost = data_lost};
static const struct glock_ops reserved_ops = {
    .size = sizeof(reserved_ops), .dump = dump_path, .callback = reserved_wanted};

static const struct glock_ops wal_write_ops = {.size = sizeof(wal_write_ops), .dump = dump_path};
/* A thread of the library gives the byte back, because the glock has no holder then. */
static const struct glock_ops wal_mark_ops = {
    .size = sizeof(wal_mark_ops), .dump = dump_path, .inval = wal_byte_wanted};

static void space_log(void *arg, const char *message)
{
	(void)arg;
	snprintf(cause, sizeof(cause), "%s", message);
	if (!quiet)
		say_of_library(message);
}

/* ---- opening ---- */

/* Returns what to add to the library's message. */
static const char *space_advice(int err)
{
	switch (err) {
	case -EPROTONOSUPPORT:
		return "; give lockman=local or lockman=dlm";
	case -EACCES:
	case -EPERM:
		return "; group=GROUP in the URI does the same";
	case -ENOENT:
	case -ENOTDIR:
		return "; make this directory, or name another one in GLOCK_DIR";
	default:
		return "";
	}
}

static uint32_t identity_of(struct glock_space *glocks)
{
	uint64_t identity = 0;

	glock_space_identity(glocks, &identity); /* cannot fail for an open space */
	return (uint32_t)(identity ^ identity >> 32);
}

static struct shared_space *space_new(const char *name, const struct parameters *p, char *why,
				      size_t size)
{
	const char *lockman = p->lockman ? p->lockman : "local";
	struct glock_type_options types[TYPES] = {
	    {.size = sizeof(types[0]),
	     .type = TYPE_DATA,
	     .ops = &data_ops,
	     .hold = GLOCK_HOLD_NONE, /* grips hold: see grip.h */
	     .name = "sqldata",
	     .caches = GLOCK_CACHES_METADATA | GLOCK_CACHES_DATA},
	    {.size = sizeof(types[0]),
	     .type = TYPE_RESERVED,
	     .ops = &reserved_ops,
	     .hold = GLOCK_HOLD_NONE,
	     .name = "sqlwrite",
	     .modes = 1u << GLOCK_EX | 1u << GLOCK_DF},
	    {.size = sizeof(types[0]),
	     .type = TYPE_WAL_WRITE,
	     .ops = &wal_write_ops,
	     .hold = GLOCK_HOLD_NONE,
	     .name = "walwrite"},
	};
	struct glock_space_options o = {.size = sizeof(o),
					.lockman = lockman,
					.types = types,
					.n_types = TYPES,
					.log = space_log,
					.group = p->group};
	struct shared_space *s = calloc(1, sizeof(*s) + strlen(name) + 1);
	int err;

	for (unsigned int i = 0; i < WAL_MARKS; i++)
		types[TYPES - WAL_MARKS + i] =
		    (struct glock_type_options){.size = sizeof(types[0]),
						.type = TYPE_WAL_MARK + i,
						.ops = &wal_mark_ops,
						.hold = GLOCK_HOLD_NONE,
						.name = "walmark",
						.caches = GLOCK_CACHES_DATA};
	if (!s) {
		snprintf(why, size, "%s", strerror(ENOMEM));
		return NULL;
	}
	strcpy(s->name, name);
	snprintf(s->lockman, sizeof(s->lockman), "%s", lockman);
	snprintf(s->group, sizeof(s->group), "%s", p->group ? p->group : "");
	*cause = '\0';
	err = glock_space_open(name, &o, &s->glocks);
	if (err) {
		if (!*cause)
			snprintf(cause, sizeof(cause), "space %s: %s", name, strerror(-err));
		snprintf(why, size, "%s%s", cause, space_advice(err));
		free(s);
		return NULL;
	}
	s->identity = identity_of(s->glocks);
	return s;
}

struct shared_space *space_take(const struct parameters *p, dev_t dev, bool be_quiet, char *why,
				size_t size)
{
	const char *lockman = p->lockman ? p->lockman : "local";
	const char *group = p->group ? p->group : "";
	char of_dev[64];
	const char *name = p->space ? p->space : of_dev;
	struct shared_space *s;

	snprintf(of_dev, sizeof(of_dev), "sqlite-%x-%x", major(dev), minor(dev));
	for (s = spaces; s; s = s->next)
		if (strcmp(s->name, name) == 0 && strcmp(s->lockman, lockman) == 0 &&
		    strcmp(s->group, group) == 0 && !s->lost)
			break;
	if (!s) {
		quiet = be_quiet;
		s = space_new(name, p, why, size);
		quiet = false;
		if (!s)
			return NULL;
		s->next = spaces;
		spaces = s;
	}
	s->databases++;
	return s;
}

bool space_is_meant(const struct shared_space *s, const struct parameters *p)
{
	return (!p->space || strcmp(p->space, s->name) == 0) &&
	       (!p->lockman || strcmp(p->lockman, s->lockman) == 0) &&
	       (!p->group || strcmp(p->group, s->group) == 0);
}

/* Closes a space that is withdrawn. The other ones stay for the next database. */
void space_put(struct shared_space *s)
{
	struct shared_space **at = &spaces;

	if (!s || --s->databases || !s->lost)
		return;
	while (*at && *at != s)
		at = &(*at)->next;
	if (*at && glock_space_close(s->glocks) != -EBUSY) {
		*at = s->next;
		free(s);
	}
}

void space_lost(struct shared_space *s)
{
	atomic_store(&s->lost, true);
}

struct glock_space *space_glocks(const struct shared_space *s)
{
	return s->glocks;
}

uint32_t space_identity(const struct shared_space *s)
{
	return s->identity;
}

const char *space_name(const struct shared_space *s)
{
	return s->name;
}

/* ---- the end ---- */

void spaces_close(void)
{
	struct shared_space **at = &spaces;

	while (*at) {
		struct shared_space *s = *at;

		/* The locks of a connection that is still open go with the process. */
		if (s->databases || glock_space_close(s->glocks) == -EBUSY) {
			at = &s->next;
			continue;
		}
		*at = s->next;
		free(s);
	}
}

void spaces_forget(void)
{
	spaces = NULL; /* a child must not close what its parent opened */
}
