/* SPDX-License-Identifier: MIT */
/*
 * file.c - the methods of a main database: locks of our own, remembered facts, and nothing else.
 *
 * Everything else goes to the file of the VFS below, with no change. So each write and each fsync
 * is the same as without this VFS.
 */
#include "grip.h"

#include <errno.h>
#include <string.h>

static struct connection *connection_of(sqlite3_file *file)
{
	return (struct connection *)file;
}

/* ---- facts ---- */

/*
 * Returns the connection's facts, or NULL if it may neither use nor learn any. A connection that
 * never locks (nolock, immutable) has none.
 */
static unsigned int *facts_of(struct connection *c)
{
	struct database *db = c->db;
	uint64_t now;

	if (c->level != SQLITE_LOCK_SHARED || c->bytes || c->forks != database_forks ||
	    atomic_load_explicit(&db->writers, memory_order_relaxed) ||
	    atomic_load_explicit(&db->recoverers, memory_order_relaxed))
		return NULL;
	now = atomic_load(&db->generation);
	if (c->facts_of != now) {
		c->facts_of = now;
		c->facts = 0;
	}
	return &c->facts;
}

static void learn(struct connection *c, unsigned int fact)
{
	c->facts |= fact;
	look_learn(c, fact);
}

/* Stores whether a journal says something: it is not empty, and does not begin with a 0. */
static int journal_speaks(const char *path, int *speaks)
{
	char memory[1024]; /* SQLite's file of the unix VFS has 120 bytes */
	sqlite3_file *file = (sqlite3_file *)memory;
	int flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_MAIN_JOURNAL;
	unsigned char first = 0;
	sqlite3_int64 size = 0;
	int rc;

	if ((size_t)vfs_base->szOsFile > sizeof(memory))
		return SQLITE_OK;
	memset(memory, 0, sizeof(memory));
	if (vfs_base->xOpen(vfs_base, path, file, flags, &flags))
		return SQLITE_OK; /* SQLite tries itself */
	rc = file->pMethods->xFileSize(file, &size);
	if (!rc && size)
		rc = file->pMethods->xRead(file, &first, 1, 0);
	if (!rc)
		*speaks = size && first;
	file->pMethods->xClose(file);
	return rc;
}

/* SQLite deletes the journal of an empty database, whatever the journal says. */
static int journal_is_hot(const struct connection *c, const char *path, int *hot)
{
	sqlite3_int64 size = 0;
	int rc = c->real->pMethods->xFileSize(c->real, &size);

	return rc || !size ? rc : journal_speaks(path, hot);
}

int file_journal_is_hot(const struct connection *c, int *hot)
{
	int rc = vfs_base->xAccess(vfs_base, c->journal, SQLITE_ACCESS_EXISTS, hot);

	return rc || !*hot ? rc : journal_is_hot(c, c->journal, hot);
}

int file_look_for(struct connection *c, unsigned int fact, const char *path, int *there)
{
	bool may_learn = facts_of(c) != NULL;
	uint64_t of = c->facts_of;
	int rc = vfs_base->xAccess(vfs_base, path, SQLITE_ACCESS_EXISTS, there);

	if (rc || !may_learn)
		return rc;
	if (*there && fact == FACT_NO_JOURNAL)
		rc = journal_is_hot(c, path, there);
	if (!rc && !*there && facts_of(c) && c->facts_of == of)
		learn(c, fact);
	return rc;
}

/* ---- locks ---- */

static int file_lock(sqlite3_file *file, int level)
{
	struct connection *c = connection_of(file);
	int rc = SQLITE_OK;

	if (level == SQLITE_LOCK_SHARED && c->level == SQLITE_LOCK_NONE &&
	    c->forks == database_forks && grip_begin(c))
		c->level = SQLITE_LOCK_SHARED;
	else
		rc = level_up(c, level);
	if (!rc) {
		current.c = c;
		current.closes = atomic_load_explicit(&connections_closed, memory_order_relaxed);
	}
	return rc;
}

/* SQLite believes to have no more than that from now on. */
static SQLITE_SLOW int unlock_slowly(struct connection *c, int level)
{
	if (level <= SQLITE_LOCK_SHARED)
		c->needs_exclusive = false;
	return level_down(c, level);
}

static int file_unlock(sqlite3_file *file, int level)
{
	struct connection *c = connection_of(file);

	if (level != SQLITE_LOCK_NONE || c->level != SQLITE_LOCK_SHARED || c->recovers ||
	    c->bytes || c->forks != database_forks)
		return unlock_slowly(c, level);
	grip_end(c);
	c->level = SQLITE_LOCK_NONE;
	return SQLITE_OK;
}

static int file_check_reserved(sqlite3_file *file, int *out)
{
	return level_reserved(connection_of(file), out);
}

/* ---- contents ---- */

static int file_close(sqlite3_file *file)
{
	struct connection *c = connection_of(file);
	int rc;

	atomic_fetch_add(&connections_closed, 1);
	close_connection(c);
	rc = c->real->pMethods->xClose(c->real);
	return rc;
}

/* Another process may write meanwhile, so pages would be of two moments. */
static SQLITE_SLOW int refuse_read(const struct connection *c)
{
	say(SQLITE_IOERR_READ, "%s: not read, because %s", c->db->path,
	    c->forks != database_forks ? "the connection belongs to the parent process"
				       : "the transaction lost its lock");
	return SQLITE_IOERR_READ;
}

/* SQLite knows this counter from now on; NULL: none. */
static void tell_counter(struct connection *c, const unsigned char *counter)
{
	c->told &= ~(unsigned int)FACT_COUNTER;
	if (!counter)
		return;
	memcpy(c->counter, counter, COUNTER_SIZE);
	c->told |= FACT_COUNTER;
}

static SQLITE_SLOW int read_counter(struct connection *c, void *to)
{
	unsigned int *facts = facts_of(c);
	int rc = c->real->pMethods->xRead(c->real, to, COUNTER_SIZE, COUNTER_AT);

	tell_counter(c, rc ? NULL : to);
	if (!rc && facts)
		learn(c, FACT_COUNTER);
	return rc;
}

bool file_says_wal(const unsigned char *header)
{
	static const char magic[] = "SQLite format 3";

	/* the last byte is the version for readers */
	return memcmp(header, magic, sizeof(magic)) == 0 && header[HEADER_SIZE - 1] == 2;
}

int file_refuse_wal(const char *path)
{
	say_because(SQLITE_CANTOPEN, path,
		    "is in WAL mode; open it with vfs=unix and set PRAGMA journal_mode=delete",
		    "WAL mode needs interop=1, lockman=local and a file system of one machine");
	return SQLITE_CANTOPEN;
}

/*
 * Another program may have set WAL mode since the open. SQLite then returns SQLITE_CANTOPEN and
 * does not say why. With locking_mode=exclusive it uses WAL without shared memory.
 */
static void look_for_wal(struct connection *c, const void *start, int n)
{
	c->says_wal = n >= HEADER_SIZE ? file_says_wal(start) : c->says_wal;
	if (n >= HEADER_SIZE && !c->has_wal && !c->exclusive && file_says_wal(start))
		file_refuse_wal(c->db->path);
}

static SQLITE_SLOW int read_start(struct connection *c, void *to, int n)
{
	int rc = c->real->pMethods->xRead(c->real, to, n, 0);

	if (!rc)
		look_for_wal(c, to, n);
	if (!rc && n >= COUNTER_AT + COUNTER_SIZE)
		tell_counter(c, (unsigned char *)to + COUNTER_AT);
	return rc;
}

static int file_read(sqlite3_file *file, void *to, int n, sqlite3_int64 at)
{
	struct connection *c = connection_of(file);

	if (atomic_load_explicit(&c->unlocked, memory_order_relaxed))
		return refuse_read(c);
	if (!at)
		return read_start(c, to, n);
	if (at != COUNTER_AT || n != COUNTER_SIZE)
		return c->real->pMethods->xRead(c->real, to, n, at);
	if (!connection_has(c, FACT_COUNTER))
		return read_counter(c, to);
	memcpy(to, c->counter, COUNTER_SIZE);
	return SQLITE_OK;
}

static SQLITE_SLOW int read_size(struct connection *c, sqlite3_int64 *size)
{
	unsigned int *facts = facts_of(c);
	int rc = c->real->pMethods->xFileSize(c->real, size);

	c->told &= ~(unsigned int)FACT_SIZE;
	if (rc)
		return rc;
	c->size = *size;
	c->told |= FACT_SIZE;
	if (facts)
		learn(c, FACT_SIZE);
	return SQLITE_OK;
}

static int file_size(sqlite3_file *file, sqlite3_int64 *size)
{
	struct connection *c = connection_of(file);

	if (!connection_has(c, FACT_SIZE))
		return read_size(c, size);
	*size = c->size;
	return SQLITE_OK;
}

/* A process whose locks are gone must not write: others have the database. */
static int refuse_write(struct connection *c, int result)
{
	int err = level_may_write(c);

	if (!err)
		return SQLITE_OK;
	say(result, "%s: not written, because %s", c->db->path,
	    err == -ECHILD ? "the connection belongs to the parent process"
			   : "the space is withdrawn and other processes may have the database");
	return result;
}

/*
 * Refuses the page that would set WAL mode. file_pragma() does not hear of each PRAGMA: SQLite
 * tells the main database only, which may be in memory. A rollback of a hot journal may bring WAL
 * mode back, which another program had ended.
 */
static SQLITE_SLOW int refuse_wal_page(const struct connection *c, const void *from, int n)
{
	if (n < HEADER_SIZE || c->has_wal || c->recovers || !file_says_wal(from))
		return SQLITE_OK;
	say(SQLITE_ERROR,
	    "%s: stays in its journal mode, because the VFS glock has no WAL mode here; open it "
	    "with vfs=unix for WAL",
	    c->db->path);
	return SQLITE_ERROR;
}

static int file_write(sqlite3_file *file, const void *from, int n, sqlite3_int64 at)
{
	struct connection *c = connection_of(file);
	int rc = refuse_write(c, SQLITE_IOERR_WRITE);

	if (!rc && !at)
		rc = refuse_wal_page(c, from, n);
	if (rc)
		return rc;
	if (!at && n >= HEADER_SIZE)
		c->says_wal = file_says_wal(from);
	c->told &= ~(unsigned int)FACT_SIZE;
	if (at < COUNTER_AT + COUNTER_SIZE) {
		database_forget(c->db);
		tell_counter(c, NULL);
	}
	return c->real->pMethods->xWrite(c->real, from, n, at);
}

static int file_truncate(sqlite3_file *file, sqlite3_int64 size)
{
	struct connection *c = connection_of(file);
	int rc = refuse_write(c, SQLITE_IOERR_TRUNCATE);

	if (rc)
		return rc;
	database_forget(c->db);
	c->told = 0;
	return c->real->pMethods->xTruncate(c->real, size);
}

static int file_sync(sqlite3_file *file, int flags)
{
	struct connection *c = connection_of(file);

	return c->real->pMethods->xSync(c->real, flags);
}

/* ---- controls ---- */

static _Atomic bool any_exclusive; /* a connection of this process is or was */

/* Makes all connections of a handle exclusive if one of them is. The mutex of SQLite is held. */
static void share_exclusive(struct database *db, void *connection)
{
	struct connection *with = connection;
	sqlite3 *handle = atomic_load(&with->handle);

	pthread_mutex_lock(&db->mutex);
	for (struct connection *c = db->connections; c && handle; c = c->next)
		if (c != with && atomic_load(&c->handle) == handle)
			c->exclusive = with->exclusive = c->exclusive || with->exclusive;
	pthread_mutex_unlock(&db->mutex);
}

static int mode_of_handle(void *exclusive, int n, char **values, char **names)
{
	(void)names;
	*(bool *)exclusive = n == 1 && values[0] && sqlite3_stricmp(values[0], "exclusive") == 0;
	return 0;
}

/*
 * Returns whether PRAGMA locking_mode=exclusive was for all databases of the handle. SQLite tells
 * only the main one, which may be in memory.
 */
static bool handle_is_exclusive(const struct connection *c)
{
	sqlite3 *handle = atomic_load(&c->handle);
	bool exclusive = false;

	if (handle)
		sqlite3_exec(handle, "PRAGMA locking_mode", mode_of_handle, &exclusive, NULL);
	return exclusive;
}

/*
 * With locking_mode=exclusive SQLite would use WAL without shared memory. The file would then be in
 * WAL mode, which no other connection of this VFS can open. SQLite tells only the main database of
 * a PRAGMA for all attached ones.
 */
static int file_pragma(struct connection *c, char **arguments)
{
	const char *name = arguments[1], *value = arguments[2];

	if (value && sqlite3_stricmp(name, "locking_mode") == 0) {
		c->exclusive = sqlite3_stricmp(value, "exclusive") == 0;
		if (c->exclusive) {
			atomic_store(&any_exclusive, true);
			database_each(share_exclusive, c);
		}
	}
	if (value && !c->has_wal && sqlite3_stricmp(name, "journal_mode") == 0 &&
	    sqlite3_stricmp(value, "wal") == 0 && (c->exclusive || handle_is_exclusive(c))) {
		arguments[0] = sqlite3_mprintf("the VFS glock has no WAL mode here");
		return arguments[0] ? SQLITE_ERROR : SQLITE_NOMEM;
	}
	return SQLITE_NOTFOUND;
}

static int file_control(sqlite3_file *file, int op, void *arg)
{
	struct connection *c = connection_of(file);
	int rc;

	switch (op) {
	case SQLITE_FCNTL_LOCKSTATE:
		*(int *)arg = c->level;
		return SQLITE_OK;
	case SQLITE_FCNTL_PRAGMA:
		rc = file_pragma(c, arg);
		if (rc != SQLITE_NOTFOUND)
			return rc;
		break;
	case SQLITE_FCNTL_PDB: /* after the open */
		atomic_store(&c->handle, *(sqlite3 **)arg);
		if (atomic_load(&any_exclusive))
			database_each(share_exclusive, c);
		break;
	case SQLITE_FCNTL_SIZE_HINT:
	case SQLITE_FCNTL_CHUNK_SIZE:
		database_forget(c->db);
		c->told = 0;
		break;
	default:
		break;
	}
	rc = c->real->pMethods->xFileControl(c->real, op, arg);
	if (op == SQLITE_FCNTL_VFSNAME && !rc) {
		*(char **)arg = sqlite3_mprintf("glock/%z", *(char **)arg);
		rc = *(char **)arg ? SQLITE_OK : SQLITE_NOMEM;
	}
	return rc;
}

static int file_sector_size(sqlite3_file *file)
{
	struct connection *c = connection_of(file);

	return c->real->pMethods->xSectorSize(c->real);
}

static int file_characteristics(sqlite3_file *file)
{
	struct connection *c = connection_of(file);

	return c->real->pMethods->xDeviceCharacteristics(c->real);
}

static int file_fetch(sqlite3_file *file, sqlite3_int64 at, int n, void **out)
{
	struct connection *c = connection_of(file);
	int rc;

	*out = NULL; /* SQLite then calls xRead */
	if (c->real->pMethods->iVersion < 3 ||
	    atomic_load_explicit(&c->unlocked, memory_order_relaxed))
		return SQLITE_OK;
	rc = c->real->pMethods->xFetch(c->real, at, n, out);
	if (!rc && !at && *out)
		look_for_wal(c, *out, n);
	return rc;
}

static int file_unfetch(sqlite3_file *file, sqlite3_int64 at, void *page)
{
	struct connection *c = connection_of(file);

	return c->real->pMethods->iVersion < 3 ? SQLITE_OK
					       : c->real->pMethods->xUnfetch(c->real, at, page);
}

static int file_shm_map(sqlite3_file *file, int region, int size, int extend, void volatile **out)
{
	return wal_map(connection_of(file), region, size, extend, out);
}

static int file_shm_lock(sqlite3_file *file, int first, int n, int flags)
{
	return wal_lock(connection_of(file), first, n, flags);
}

static void file_shm_barrier(sqlite3_file *file)
{
	struct connection *c = connection_of(file);

	c->real->pMethods->xShmBarrier(c->real);
}

static int file_shm_unmap(sqlite3_file *file, int delete)
{
	return wal_unmap(connection_of(file), delete);
}

/* clang-format off */
#define FILE_METHODS \
    .xClose = file_close, \
    .xRead = file_read, \
    .xWrite = file_write, \
    .xTruncate = file_truncate, \
    .xSync = file_sync, \
    .xFileSize = file_size, \
    .xLock = file_lock, \
    .xUnlock = file_unlock, \
    .xCheckReservedLock = file_check_reserved, \
    .xFileControl = file_control, \
    .xSectorSize = file_sector_size, \
    .xDeviceCharacteristics = file_characteristics, \
    .xFetch = file_fetch, \
    .xUnfetch = file_unfetch
/* clang-format on */

/* Without xShmMap SQLite keeps the journal mode that it has. */
const sqlite3_io_methods file_methods = {.iVersion = 3, FILE_METHODS};
const sqlite3_io_methods file_methods_wal = {.iVersion = 3,
					     FILE_METHODS,
					     .xShmMap = file_shm_map,
					     .xShmLock = file_shm_lock,
					     .xShmBarrier = file_shm_barrier,
					     .xShmUnmap = file_shm_unmap};
