/* SPDX-License-Identifier: MIT */
/*
 * open.c - finds the database of a connection, and decides between glocks and byte locks.
 *
 * A process may be unable to join the space of a database: the space is another user's, or in
 * another directory, of another version, full, or gone. With interop the process goes on as a
 * program without this VFS does: its connections pass their locks to SQLite's own VFS. Such a
 * process is DEGRADED. It marks the file, because a process with interop=0 would not see its locks.
 *
 * A database without a space stands for this in the registry. It is another database than that of
 * the same file with a space, so both may be there for a while. A connection changes between them
 * at the beginning of a transaction.
 */
#include "bytes.h"
#include "database.h"
#include "grip.h"

#include "base/clean.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { WHY_SIZE = 512 };
static const int64_t retry_ns = 1000000000; /* between tries to join the space */

/* ---- the file ---- */

static struct database *find(const struct stat *st, bool with_space)
{
	struct database *db = databases;

	while (db && (db->dev != st->st_dev || db->ino != st->st_ino || atomic_load(&db->lost) ||
		      (db->space != NULL) != with_space))
		db = db->next;
	return db;
}

static void close_file(struct database *db, unsigned int which)
{
	bytes_close(db->files[which]);
	db->files[which] = NULL;
	db->descriptors[which] = 0;
}

/* Of a call for a byte lock, which SQLite's VFS makes later. */
static int result_of_lock(int err)
{
	if (err == -EBUSY || err == -ESTALE)
		return SQLITE_CANTOPEN;
	return err == -EAGAIN ? SQLITE_BUSY : SQLITE_IOERR_LOCK;
}

/* Opens the descriptor for byte locks. Returns an SQLite result. */
static int open_file(struct database *db, const char *path, bool read_only, unsigned int which,
		     struct stat *st)
{
	int *fd = &db->descriptors[which];
	int rc = bytes_open(path, read_only, &db->files[which], fd);

	if (!rc && fstat(*fd, st))
		rc = SQLITE_IOERR_FSTAT;
	if (!rc)
		return SQLITE_OK;
	say(rc, "%s: %s", path, sqlite3_errstr(rc));
	close_file(db, which);
	return rc;
}

/* Makes a database that is not in the registry yet. Returns SQLite's result. */
static int new_database(struct database **out, const char *path, const struct parameters *p,
			bool read_only)
{
	/* Behind a path SQLite expects the parameters of a URI: none. */
	struct database *db = calloc(1, sizeof(*db) + strlen(path) + 4);
	struct stat st;
	int rc;

	if (!db)
		return SQLITE_NOMEM;
	strcpy(db->path, path);
	rc = open_file(db, db->path, read_only, 0, &st);
	if (rc) {
		free(db);
		return rc;
	}
	db->fd = db->descriptors[0];
	db->dev = st.st_dev;
	db->ino = st.st_ino;
	db->read_only = read_only;
	db->interop = p->interop;
	db->hold = p->hold;
	atomic_store(&db->generation, 1);
	pthread_mutex_init(&db->mutex, NULL);
	pthread_cond_init(&db->changed, NULL);
	*out = db;
	return SQLITE_OK;
}

/* Takes the locks that a database for reading has, for another descriptor. The mutex is held. */
static int take_locks_of(struct database *db, int fd)
{
	int err = 0;

	if (db->space)
		err = bytes_mark_space(fd, space_identity(db->space), !db->interop);
	if (!err && (!db->space || db->marked_degraded))
		err = bytes_mark_degraded(fd);
	if (!err && db->interop && atomic_load(&db->lease) != LEASE_OFF)
		err = bytes_lock(fd, BYTE_SHARED, BYTES_SHARED, BYTES_READ);
	if (!err && atomic_load(&db->says_used))
		err = bytes_lock(fd, BYTE_USED, 1, BYTES_READ);
	return err;
}

/*
 * A descriptor for reading takes no write locks, so the first connection that writes has another.
 * Other threads may use the old one at this moment, so it stays open.
 */
static int make_writable(struct database *db)
{
	struct stat st;
	int rc = open_file(db, db->path, false, 1, &st), fd = db->descriptors[1], old, err = 0;

	if (rc)
		return rc;
	pthread_mutex_lock(&db->mutex);
	old = atomic_load(&db->fd);
	if (st.st_ino != db->ino || st.st_dev != db->dev)
		err = -ESTALE;
	if (!err)
		err = take_locks_of(db, fd);
	if (!err) {
		atomic_store(&db->fd, fd);
		bytes_lock(old, 0, 0, BYTES_FREE);
		db->read_only = false;
	}
	pthread_mutex_unlock(&db->mutex);
	if (!err)
		return SQLITE_OK;
	rc = result_of_lock(err);
	say(rc, "%s: %s", db->path, strerror(-err));
	close_file(db, 1);
	return rc;
}

/* ---- glocks ---- */

static int get_glocks(struct database *db)
{
	struct glock_space *space = space_glocks(db->space);
	int err = glock_get(space, TYPE_DATA, db->ino, &db->data);

	if (!err) {
		err = glock_get(space, TYPE_RESERVED, db->ino, &db->reserved);
		if (err) {
			glock_put(db->data);
			db->data = NULL;
		}
	}
	if (err)
		return err;
	glock_set_object(db->data, db);
	glock_set_object(db->reserved, db);
	return 0;
}

static void explain_mark(char *why, int err, const struct database *db)
{
	char way[160];

	switch (err) {
	case -EBUSY:
		snprintf(why, WHY_SIZE,
			 "other processes use this database in another lock space than %s; give "
			 "all of them the same user or group, GLOCK_DIR and space%s",
			 space_name(db->space), place_group(db->path, way, sizeof(way)));
		break;
	case -EADDRINUSE:
		snprintf(why, WHY_SIZE,
			 "processes use it with SQLite's byte locks; give interop=0 to all "
			 "processes, or to none");
		break;
	default:
		snprintf(why, WHY_SIZE, "cannot mark the file: %s", strerror(-err));
	}
}

/* Joins the space. Returns false with the reason. */
static bool join(struct database *db, const struct parameters *p, bool quiet, char *why)
{
	int err;

	db->space = space_take(p, db->dev, quiet, why, WHY_SIZE);
	/*
	 * After libglock's own handlers, so that fork() calls ours first: our mutex comes before
	 * those of libglock.
	 */
	database_start();
	if (!db->space)
		return false;
	err = get_glocks(db);
	if (err)
		snprintf(why, WHY_SIZE, "no lock in space %s: %s", space_name(db->space),
			 strerror(-err));
	else if ((err = bytes_mark_space(db->fd, space_identity(db->space), !db->interop)))
		explain_mark(why, err, db);
	if (!err)
		return true;
	if (db->data)
		database_put_glocks(db);
	else
		space_put(db->space);
	db->space = NULL;
	return false;
}

/* ---- byte locks ---- */

/* Messages go to the system's log by default, so the first time is told on stderr, too. */
static void tell_degraded(const struct database *db, const char *why)
{
	static atomic_flag told = ATOMIC_FLAG_INIT;
	char text[2048];

	say_because(SQLITE_WARNING, db->path, "goes on with SQLite's byte locks", why);
	if (say_is_seen() || atomic_flag_test_and_set(&told))
		return;
	snprintf(text, sizeof(text), "%s: goes on with SQLite's byte locks, because %s", db->path,
		 why);
	glock__clean(text, strlen(text));
	fprintf(stderr, "glock: %s\n", text);
}

/* Stores a database without a space. `new` is it, or is freed. */
static int degrade(struct database **out, struct database *new, int64_t retry, const char *why)
{
	struct stat st = {.st_dev = new->dev, .st_ino = new->ino};
	int err, rc = SQLITE_OK;

	*out = find(&st, false);
	if (*out) {
		if ((*out)->read_only && !new->read_only)
			rc = make_writable(*out);
		database_free(new);
		return rc;
	}
	err = bytes_mark_degraded(new->fd);
	if (err) {
		rc = result_of_lock(err);
		say_because(rc, new->path,
			    err == -EBUSY ? "is refused: a process with interop=0 uses it"
					  : strerror(-err),
			    why);
		database_free(new);
		return rc;
	}
	new->marked_degraded = true;
	atomic_store(&new->retry, retry);
	tell_degraded(new, why);
	*out = new;
	new->next = databases;
	databases = new;
	return SQLITE_OK;
}

bool open_to_bytes(struct connection *c)
{
	struct database *db = c->db;
	bool marked;

	if (!db->may_degrade)
		return false;
	database_lock();
	if (!db->marked_degraded)
		db->marked_degraded = !bytes_mark_degraded(db->fd);
	marked = db->marked_degraded;
	database_unlock();
	if (!marked)
		return false;
	grip_drop(c);
	level_forget_requests(c);
	c->facts = 0;
	c->bytes = true;
	return true;
}

/* ---- the choice ---- */

static int make(struct database **out, const char *path, const struct parameters *p, bool read_only,
		bool quiet)
{
	char why[WHY_SIZE] = "";
	struct database *db = NULL;
	enum verdict v;
	int rc = new_database(&db, path, p, read_only);

	if (rc)
		return rc;
	v = place_verdict(db->fd, p, why, sizeof(why));
	db->may_degrade = v == VERDICT_JOIN || v == VERDICT_DEGRADE;
	if ((v == VERDICT_JOIN || v == VERDICT_JOIN_ONLY) && join(db, p, quiet, why)) {
		db->next = databases;
		databases = db;
		*out = db;
		return SQLITE_OK;
	}
	if (db->may_degrade)
		return degrade(out, db, v == VERDICT_DEGRADE ? INT64_MAX : level_now() + retry_ns,
			       why);
	say_because(SQLITE_CANTOPEN, path, "is refused", why);
	database_free(db);
	return SQLITE_CANTOPEN;
}

/* Connections of a process share the byte locks and glocks of a database, so also its parameters.
 */
static int refuse_other_parameters(struct database *db, const char *path,
				   const struct parameters *p)
{
	char why[WHY_SIZE];

	if (!space_is_meant(db->space, p)) {
		say(SQLITE_CANTOPEN,
		    "%s: this process has it open in the space %s; give all connections the same "
		    "space, lockman and group",
		    path, space_name(db->space));
		return SQLITE_CANTOPEN;
	}
	if (p->interop && !db->interop) {
		say(SQLITE_CANTOPEN,
		    "%s: this process has it open with interop=0; give interop=0 to all "
		    "connections, or to none",
		    path);
		return SQLITE_CANTOPEN;
	}
	if (place_verdict(db->fd, p, why, sizeof(why)) == VERDICT_REFUSE) {
		say_because(SQLITE_CANTOPEN, path, "is refused", why);
		return SQLITE_CANTOPEN;
	}
	if (db->interop && !p->interop)
		say(SQLITE_WARNING, "%s: is open with interop=1, which stays", path);
	if (db->hold != p->hold)
		say(SQLITE_WARNING, "%s: is open with another hold, which stays", path);
	return SQLITE_OK;
}

/* Finds the database of the file that the path names now. The registry's mutex is held. */
static int find_or_make(struct database **out, const char *path, const struct parameters *p,
			bool read_only, bool quiet)
{
	struct stat st;
	int rc;

	if (stat(path, &st))
		return make(out, path, p, read_only, quiet);
	*out = find(&st, true);
	if (!*out) {
		*out = find(&st, false);
		if (!*out || level_now() >= atomic_load(&(*out)->retry) || !p->interop)
			return make(out, path, p, read_only, quiet);
	} else {
		rc = refuse_other_parameters(*out, path, p);
		if (rc)
			return rc;
	}
	return (*out)->read_only && !read_only ? make_writable(*out) : SQLITE_OK;
}

int open_connection(struct connection *c, const struct parameters *p, bool read_only)
{
	struct database *db = NULL;
	int rc;

	c->read_only = read_only;
	database_lock();
	database_parents_unlock();
	rc = find_or_make(&db, c->path, p, read_only, false);
	if (!rc) {
		c->bytes = !db->space;
		database_add(db, c);
	}
	database_unlock();
	return rc;
}

/* ---- changes ---- */

/* Keeps what is the program's, and forgets all locks. */
static void reset(struct connection *c)
{
	struct connection was = *c;

	memset(c, 0, sizeof(*c));
	c->file = was.file;
	c->real = was.real;
	c->db = was.db;
	c->path = was.path;
	c->journal = was.journal;
	c->wal = was.wal;
	c->read_only = was.read_only;
	c->has_wal = was.has_wal;
	c->says_wal = was.says_wal;
	c->exclusive = was.exclusive;
	c->handle = was.handle;
}

/* The connection has no lock. The registry's mutex is held. */
static int move(struct connection *c, const struct parameters *p, bool is_child)
{
	bool waits = !is_child && !atomic_load(&c->db->lost); /* for its space */
	struct database *to = NULL;
	int rc;

	if (!is_child && !waits)
		bytes_unmark_space(c->db->fd);
	rc = find_or_make(&to, c->path, p, c->read_only, waits);
	if (!rc && (to->dev != c->db->dev || to->ino != c->db->ino)) {
		say(SQLITE_IOERR_LOCK, "%s: is another file now; open it again", c->path);
		rc = SQLITE_IOERR_LOCK;
	}
	if (waits && (rc || !to->space)) {
		atomic_store(&c->db->retry, level_now() + retry_ns);
		rc = SQLITE_OK;
	} else if (!rc) {
		if (is_child)
			database_parents_forget(c);
		else
			database_remove(c);
		reset(c);
		c->bytes = !to->space;
		database_add(to, c);
		if (waits)
			say(SQLITE_NOTICE, "%s: joins the space %s", c->path,
			    space_name(to->space));
	}
	database_free_unused();
	return rc ? SQLITE_IOERR_LOCK : SQLITE_OK;
}

int open_again(struct connection *c)
{
	bool is_child = c->forks != database_forks;
	struct database *db = c->db;
	struct parameters p;
	int rc;

	if (!is_child && !atomic_load(&db->lost) &&
	    (db->space || level_now() < atomic_load(&db->retry)))
		return SQLITE_OK;
	if (vfs_parameters(&p, c->path))
		return SQLITE_IOERR_LOCK;
	if (!is_child) {
		grip_drop(c);
		level_forget_requests(c);
	}
	database_lock();
	if (is_child)
		database_parents_unlock();
	rc = move(c, &p, is_child);
	database_unlock();
	return rc;
}

void close_connection(struct connection *c)
{
	bool is_parents = c->forks != database_forks;

	if (c->maps)
		wal_unmap(c, 0);
	if (!is_parents) {
		level_down(c, SQLITE_LOCK_NONE);
		grip_drop(c);
		level_forget_requests(c);
	}
	database_lock();
	if (is_parents)
		database_parents_forget(c);
	else
		database_remove(c);
	database_free_unused();
	database_unlock();
}
