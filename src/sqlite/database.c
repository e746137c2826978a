/* SPDX-License-Identifier: MIT */
/* database.c - the registry of databases, see database.h; opening, closing and fork. */
#include "database.h"
#include "bytes.h"
#include "grip.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

enum file_system { FS_OTHER, FS_NETWORK, FS_CLUSTER };

unsigned int database_forks;

static pthread_mutex_t registry_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t unpinned = PTHREAD_COND_INITIALIZER;
static struct database *databases;
static struct database *parents; /* databases of the process before fork(); for look-ups only */
static uint64_t last_id;

/* ---- fork and exit ---- */

static void before_fork(void)
{
	pthread_mutex_lock(&registry_mutex);
}

static void after_fork(void)
{
	pthread_mutex_unlock(&registry_mutex);
}

/*
 * The child's descriptors would keep the parent's byte locks after the parent's end. Threads of the
 * parent may have had the databases' mutexes, so nothing of the parent's databases is used again.
 */
static void after_fork_in_child(void)
{
	struct database **last = &databases;

	for (; *last; last = &(*last)->next) {
		close((*last)->fd);
		for (struct connection *c = (*last)->connections; c; c = c->next)
			atomic_store(&c->unlocked, true);
	}
	*last = parents;
	parents = databases;
	databases = NULL;
	database_forks++;
	spaces_forget();
	service_forget();
	pthread_mutex_init(&registry_mutex, NULL);
	pthread_cond_init(&unpinned, NULL);
}

static void database_put_glocks(struct database *db)
{
	if (!db->data)
		return;
	/* inval finds the database by the registry, so no callback needs the object but dump */
	glock_set_object(db->data, NULL);
	glock_set_object(db->reserved, NULL);
	glock_put(db->data);
	glock_put(db->reserved);
	db->data = db->reserved = NULL;
	space_put(db->space);
}

/*
 * A process that leaves without closing its spaces counts as dead. Connections that are still open
 * keep their space open, because other threads may use them.
 */
static void at_exit(void)
{
	if (database_forks)
		return; /* a child that opens databases of its own leaves them to the kernel */
	pthread_mutex_lock(&registry_mutex);
	for (struct database *db = databases; db; db = db->next)
		if (!db->users)
			database_put_glocks(db);
	pthread_mutex_unlock(&registry_mutex);
	spaces_close();
}

static void start_once(void)
{
	pthread_atfork(before_fork, after_fork, after_fork_in_child);
	atexit(at_exit);
}

/* ---- the registry ---- */

void database_each(void (*f)(struct database *db, void *arg), void *arg)
{
	pthread_mutex_lock(&registry_mutex);
	for (struct database *db = databases; db; db = db->next)
		f(db, arg);
	pthread_mutex_unlock(&registry_mutex);
}

static struct database *database_find(dev_t dev, ino_t ino)
{
	struct database *db = databases;

	while (db && (db->dev != dev || db->ino != ino))
		db = db->next;
	return db;
}

struct journal_of {
	const char *path;
	size_t len;
};

static void journal_changed(struct database *db, void *arg)
{
	const struct journal_of *j = arg;
	bool mine = false;

	pthread_mutex_lock(&db->mutex);
	for (struct connection *c = db->connections; c && !mine; c = c->next)
		mine = (c->journal && strcmp(c->journal, j->path) == 0) ||
		       (c->wal && strcmp(c->wal, j->path) == 0);
	pthread_mutex_unlock(&db->mutex);
	if (mine)
		database_forget(db);
}

void database_journal_changed(const char *path)
{
	struct journal_of j = {path, path ? strlen(path) : 0};

	if (path)
		database_each(journal_changed, &j);
}

bool database_is_parents_journal(const char *path)
{
	bool found = false;

	if (!parents || !path)
		return false;
	pthread_mutex_lock(&registry_mutex);
	for (struct database *db = parents; db; db = db->next)
		for (struct connection *c = db->connections; c; c = c->next)
			found |= path == c->journal;
	pthread_mutex_unlock(&registry_mutex);
	return found;
}

struct pin {
	uint64_t id;
	struct connection *found;
};

static void find_connection(struct database *db, void *arg)
{
	struct pin *pin = arg;

	pthread_mutex_lock(&db->mutex);
	for (struct connection *c = db->connections; c && !pin->found; c = c->next)
		if (c->id == pin->id) {
			c->pins++;
			pin->found = c;
		}
	pthread_mutex_unlock(&db->mutex);
}

struct connection *connection_pin(uint64_t id)
{
	struct pin pin = {id, NULL};

	database_each(find_connection, &pin);
	return pin.found;
}

void connection_unpin(struct connection *c)
{
	struct database *db = c->db;

	pthread_mutex_lock(&db->mutex);
	c->pins--;
	pthread_cond_broadcast(&db->changed);
	pthread_mutex_unlock(&db->mutex);
}

/* Runs under the internal lock of a glock. */
void connection_lost(struct glock_holder *data)
{
	size_t at = offsetof(struct connection, holders) + REQUEST_DATA * sizeof(*data);
	struct connection *c = (void *)((char *)data - at);

	atomic_store(&c->unlocked, true);
}

/* May run under the internal lock of a glock. */
void database_wanted(struct database *db, uint64_t demand)
{
	atomic_fetch_add(&db->demands, demand);
	if (atomic_load(&db->in_use))
		service_ring();
}

/* ---- opening ---- */

static enum file_system file_system_of(int fd)
{
	struct statfs fs;

	if (fstatfs(fd, &fs))
		return FS_OTHER;
	switch ((uint32_t)fs.f_type) {
	case 0x6969:     /* NFS */
	case 0xff534d42: /* CIFS */
	case 0xfe534d42: /* SMB2 */
		return FS_NETWORK;
	case 0x7461636f: /* OCFS2 */
	case 0x01161970: /* GFS2 */
		return FS_CLUSTER;
	default:
		return FS_OTHER;
	}
}

/*
 * A network file system caches pages by its own rules, so a glock does not protect them. On a
 * cluster file system the default lock manager would let each node write.
 */
static int refuse_file_system(int fd, const char *path, const struct parameters *p)
{
	switch (file_system_of(fd)) {
	case FS_NETWORK:
		if (p->network)
			return SQLITE_OK;
		say(SQLITE_CANTOPEN,
		    "%s: NFS and SMB cache pages by their own rules; use another file system or "
		    "VFS, or insist with nfs=1",
		    path);
		return SQLITE_CANTOPEN;
	case FS_CLUSTER:
		if (p->lockman)
			return SQLITE_OK;
		say(SQLITE_CANTOPEN,
		    "%s: is on OCFS2 or GFS2; give lockman=dlm, or lockman=local if no other node "
		    "uses the database",
		    path);
		return SQLITE_CANTOPEN;
	default:
		return SQLITE_OK;
	}
}

static int database_glocks(struct database *db)
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
	if (err) {
		say(SQLITE_CANTOPEN, "%s: no lock in space %s: %s", db->path, space_name(db->space),
		    strerror(-err));
		return SQLITE_CANTOPEN;
	}
	glock_set_object(db->data, db);
	glock_set_object(db->reserved, db);
	return SQLITE_OK;
}

/*
 * Closes a descriptor, except where the close would drop locks of SQLite's own VFS in this process.
 * The descriptor then stays open for ever, without locks.
 */
static void close_carefully(int fd)
{
	bytes_lock(fd, 0, 0, BYTES_FREE); /* 0 bytes: the whole file */
	if (!bytes_own_posix(fd))
		close(fd);
}

static void database_free(struct database *db)
{
	database_put_glocks(db);
	close_carefully(db->fd);
	pthread_mutex_destroy(&db->mutex);
	pthread_cond_destroy(&db->changed);
	free(db);
}

static int database_new(struct database **out, int fd, const struct stat *st, const char *path,
			const struct parameters *p)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct database *db = calloc(1, sizeof(*db) + strlen(path) + 1);
	int rc = SQLITE_CANTOPEN, err;

	if (!db) {
		close_carefully(fd);
		return SQLITE_NOMEM;
	}
	strcpy(db->path, path);
	db->fd = fd;
	db->dev = st->st_dev;
	db->ino = st->st_ino;
	db->interop = p->interop;
	db->hold = p->hold;
	atomic_store(&db->generation, 1);
	pthread_mutex_init(&db->mutex, NULL);
	pthread_cond_init(&db->changed, NULL);
	db->space = space_take(p, st->st_dev);
	/*
	 * After libglock's own handlers, so that fork() calls ours first: this mutex comes before
	 * those of libglock.
	 */
	pthread_once(&once, start_once);
	if (db->space)
		rc = database_glocks(db);
	if (rc)
		space_put(db->space);
	err = rc ? 0 : bytes_mark_space(fd, space_identity(db->space));
	if (err == -EBUSY)
		say(SQLITE_CANTOPEN,
		    "%s: other processes use this database in another lock space than %s; give all "
		    "of them the same user, GLOCK_DIR and space",
		    path, space_name(db->space));
	else if (err)
		say(SQLITE_CANTOPEN, "%s: cannot mark the file: %s", path, strerror(-err));
	if (err)
		rc = SQLITE_CANTOPEN;
	if (rc) {
		database_free(db);
		return rc;
	}
	db->next = databases;
	databases = db;
	*out = db;
	return SQLITE_OK;
}

static void database_add(struct database *db, struct connection *c)
{
	c->db = db;
	c->id = ++last_id;
	c->forks = database_forks;
	db->users++;
	pthread_mutex_lock(&db->mutex);
	c->next = db->connections;
	db->connections = c;
	pthread_mutex_unlock(&db->mutex);
}

static int open_bytes(const char *path, bool read_only, struct stat *st, int *fd)
{
	*fd = open(path, (read_only ? O_RDONLY : O_RDWR) | O_CLOEXEC);
	if (*fd >= 0 && !fstat(*fd, st))
		return SQLITE_OK;
	say(SQLITE_CANTOPEN, "%s: %s", path, strerror(errno));
	if (*fd >= 0)
		close_carefully(*fd);
	return SQLITE_CANTOPEN;
}

/* Takes the locks that a database for reading has, for another descriptor. The mutex is held. */
static int take_locks_of(struct database *db, int fd)
{
	int err = bytes_mark_space(fd, space_identity(db->space));

	if (!err && db->interop && atomic_load(&db->lease) != LEASE_OFF)
		err = bytes_lock(fd, BYTE_SHARED, BYTES_SHARED, BYTES_READ);
	if (!err && atomic_load(&db->says_used))
		err = bytes_lock(fd, BYTE_USED, 1, BYTES_READ);
	return err;
}

/*
 * Lets the database use another descriptor. Other threads may use the old one at this moment, so
 * its number stays. keep: the old descriptor stays open, because a close would drop locks of
 * SQLite's own VFS.
 */
static void replace_descriptor(struct database *db, int fd, bool keep)
{
	int old = atomic_load(&db->fd);

	if (!keep && dup3(fd, old, O_CLOEXEC) == old) {
		close(fd);
		return;
	}
	atomic_store(&db->fd, fd);
	bytes_lock(old, 0, 0, BYTES_FREE);
}

/* A descriptor for reading takes no write locks, so the first connection that writes has another.
 */
static int database_make_writable(struct database *db, const char *path)
{
	struct stat st;
	int fd, err = 0, rc = open_bytes(path, false, &st, &fd);
	bool keep;

	if (rc)
		return rc;
	pthread_mutex_lock(&db->mutex);
	keep = bytes_own_posix(db->fd); /* before the locks of the new descriptor are in the way */
	if (st.st_ino != db->ino || st.st_dev != db->dev)
		err = -ESTALE;
	if (!err)
		err = take_locks_of(db, fd);
	if (!err) {
		replace_descriptor(db, fd, keep);
		db->read_only = false;
	}
	pthread_mutex_unlock(&db->mutex);
	if (!err)
		return SQLITE_OK;
	say(SQLITE_CANTOPEN, "%s: %s", path, strerror(-err));
	close_carefully(fd);
	return SQLITE_CANTOPEN;
}

/* Connections of a process share the byte locks and glocks of a database, so also its parameters.
 */
static int refuse_other_parameters(struct database *db, const char *path,
				   const struct parameters *p)
{
	if (!space_is_meant(db->space, p)) {
		say(SQLITE_CANTOPEN,
		    "%s: this process has it open in the space %s; give all connections the same "
		    "space and lockman",
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
	if (db->interop && !p->interop)
		say(SQLITE_WARNING, "%s: is open with interop=1, which stays", path);
	if (db->hold != p->hold)
		say(SQLITE_WARNING, "%s: is open with another hold, which stays", path);
	return refuse_file_system(db->fd, path, p);
}

static int database_reopen(struct database *db, const char *path, const struct parameters *p,
			   bool read_only)
{
	int rc = SQLITE_OK;

	if (!db->users) {
		db->hold = p->hold;
		db->interop = p->interop;
	}
	rc = refuse_other_parameters(db, path, p);
	if (!rc && db->read_only && !read_only)
		rc = database_make_writable(db, path);
	return rc;
}

/* Finds the database of the file that the path names now. The registry's mutex is held. */
static int database_find_or_make(struct database **out, const char *path,
				 const struct parameters *p, bool read_only)
{
	struct stat st;
	int fd, rc;

	*out = stat(path, &st) ? NULL : database_find(st.st_dev, st.st_ino);
	if (*out)
		return database_reopen(*out, path, p, read_only);
	rc = open_bytes(path, read_only, &st, &fd);
	if (rc)
		return rc;
	rc = refuse_file_system(fd, path, p);
	if (rc) {
		close_carefully(fd);
		return rc;
	}
	rc = database_new(out, fd, &st, path, p);
	if (!rc)
		(*out)->read_only = read_only;
	return rc;
}

int database_open(struct connection *c, const char *path, const struct parameters *p,
		  bool read_only)
{
	struct database *db = NULL;
	int rc;

	pthread_mutex_lock(&registry_mutex);
	rc = database_find_or_make(&db, path, p, read_only);
	if (!rc)
		database_add(db, c);
	pthread_mutex_unlock(&registry_mutex);
	return rc;
}

/* ---- closing ---- */

static void database_remove(struct database *db, struct connection *c)
{
	struct connection **at = &db->connections;

	pthread_mutex_lock(&db->mutex);
	while (c->pins)
		pthread_cond_wait(&db->changed, &db->mutex);
	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
	grip_keep_counts(c);
	pthread_mutex_unlock(&db->mutex);
}

/* Frees databases without connections, except where a close would drop locks of SQLite's own VFS.
 */
static void free_unused(void)
{
	struct database **at = &databases;

	while (*at) {
		struct database *db = *at;

		if (db->users || bytes_own_posix(db->fd)) {
			at = &db->next;
			continue;
		}
		*at = db->next;
		database_free(db);
	}
}

/* The child frees the memory of the parent's connection. */
static void forget_parents(struct connection *c)
{
	pthread_mutex_lock(&registry_mutex);
	for (struct database *db = parents; db; db = db->next)
		for (struct connection **at = &db->connections; *at; at = &(*at)->next)
			if (*at == c) {
				*at = c->next;
				break;
			}
	pthread_mutex_unlock(&registry_mutex);
}

void database_close(struct connection *c)
{
	struct database *db = c->db;

	if (c->forks != database_forks) {
		forget_parents(c);
		return;
	}
	level_down(c, SQLITE_LOCK_NONE);
	grip_drop(c);
	level_forget_requests(c);
	database_remove(db, c);
	pthread_mutex_lock(&registry_mutex);
	if (!--db->users)
		free_unused();
	pthread_mutex_unlock(&registry_mutex);
}

void database_each_and_free(void (*f)(struct database *db, void *arg), void *arg)
{
	pthread_mutex_lock(&registry_mutex);
	for (struct database *db = databases; db; db = db->next)
		f(db, arg);
	free_unused();
	pthread_mutex_unlock(&registry_mutex);
}
