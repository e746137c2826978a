/* SPDX-License-Identifier: MIT */
/* wal_index.c - the map of the file -shm, and the bytes of its marks: see wal.h. */
#include "wal.h"

#include "bytes.h"
#include "database.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { REGION_SIZE = 32768 };

/* For the bytes of all databases, and for the databases that the glocks of marks name. */
static pthread_mutex_t bytes_mutex = PTHREAD_MUTEX_INITIALIZER;

/* ---- bytes ---- */

bool wal_have_byte(struct database *db, unsigned int mark)
{
	struct wal_index *w = &db->wal;
	bool has;

	pthread_mutex_lock(&bytes_mutex);
	has = atomic_load(&w->bytes[mark]) ||
	      !bytes_lock(w->fd, WAL_BYTES + WAL_MARK + mark, 1, BYTES_READ);
	atomic_store(&w->bytes[mark], has);
	pthread_mutex_unlock(&bytes_mutex);
	return has;
}

/* bytes_mutex is held. */
static void leave_byte(struct wal_index *w, unsigned int mark)
{
	if (atomic_load(&w->bytes[mark]))
		atomic_store(&w->bytes[mark],
			     bytes_lock(w->fd, WAL_BYTES + WAL_MARK + mark, 1, BYTES_FREE) != 0);
}

void wal_leave_byte(struct database *db, unsigned int mark)
{
	pthread_mutex_lock(&bytes_mutex);
	leave_byte(&db->wal, mark);
	pthread_mutex_unlock(&bytes_mutex);
}

/* The glock has no holder. So no connection has the mark, and none gets it meanwhile. */
void wal_byte_wanted(struct glock *gl, unsigned int what)
{
	struct database *db;

	(void)what;
	pthread_mutex_lock(&bytes_mutex);
	db = glock_object(gl);
	if (db)
		leave_byte(&db->wal, glock_type_of(gl) - TYPE_WAL_MARK);
	pthread_mutex_unlock(&bytes_mutex);
}

/* ---- glocks ---- */

/*
 * The glocks stay cached. A new index has no bytes, so that a cached glock alone gives no mark. The
 * registry's mutex is held.
 */
static void put_glocks(struct wal_index *w)
{
	pthread_mutex_lock(&bytes_mutex);
	for (unsigned int i = 0; i < WAL_MARKS; i++)
		if (w->marks[i]) {
			leave_byte(w, i);
			atomic_store(&w->bytes[i], false);
			glock_set_object(w->marks[i], NULL);
			glock_put(w->marks[i]);
			w->marks[i] = NULL;
		}
	pthread_mutex_unlock(&bytes_mutex);
	if (w->write) {
		glock_set_object(w->write, NULL);
		glock_put(w->write);
		w->write = NULL;
	}
}

/* Without memory for glocks SQLite's VFS takes all locks. */
static void get_glocks(struct database *db, int fd)
{
	struct glock_space *space = space_glocks(db->space);
	struct wal_index *w = &db->wal;
	int err = 0;

	w->fd = fd;
	for (unsigned int i = 0; !err && i < WAL_MARKS; i++) {
		err = glock_get(space, TYPE_WAL_MARK + i, db->ino, &w->marks[i]);
		if (!err)
			glock_set_object(w->marks[i], db);
	}
	if (!err)
		err = glock_get(space, TYPE_WAL_WRITE, db->ino, &w->write);
	if (err)
		put_glocks(w);
	else
		glock_set_object(w->write, db);
}

/* ---- the map ---- */

static _Thread_local int opened;
static int (*open_below)(const char *path, int flags, int mode);

static int note_open(const char *path, int flags, int mode)
{
	opened = open_below(path, flags, mode);
	return opened;
}

/*
 * Maps the first region. SQLite's VFS tells no descriptor, so its table of system calls does: see
 * bytes.c. `opened` stays -1 if a connection without this VFS has the file open in this process.
 */
static int map_and_note(struct connection *c, int region, int size, int extend, void volatile **out)
{
	int rc;

	open_below =
	    (int (*)(const char *, int, int))(void *)vfs_base->xGetSystemCall(vfs_base, "open");
	vfs_base->xSetSystemCall(vfs_base, "open", (sqlite3_syscall_ptr)(void *)note_open);
	opened = -1;
	rc = c->real->pMethods->xShmMap(c->real, region, size, extend, out);
	vfs_base->xSetSystemCall(vfs_base, "open", (sqlite3_syscall_ptr)(void *)open_below);
	return rc;
}

static bool remember(struct wal_index *w, int region, void *at)
{
	if (region >= w->n_regions) {
		void **more = realloc(w->regions, ((size_t)region + 1) * sizeof(*more));

		if (!more)
			return false;
		w->regions = more;
		while (w->n_regions <= region)
			more[w->n_regions++] = NULL;
	}
	w->regions[region] = at;
	if (!region)
		atomic_store(&w->header, at);
	return true;
}

static void end_use(struct connection *c)
{
	struct wal_index *w = &c->db->wal;

	c->maps = false;
	if (--w->users)
		return;
	put_glocks(w);
	atomic_store(&w->header, NULL);
	free(w->regions);
	w->regions = NULL;
	w->n_regions = 0;
}

/*
 * The database file is locked by SQLite's VFS from now on, for as long as it is in WAL mode. SQLite
 * may believe to have EXCLUSIVE: then the connection has it before SQLite gets the map.
 */
static int leave_glocks(struct connection *c)
{
	int rc = SQLITE_OK;

	c->needs_exclusive |= !c->bytes && c->level > SQLITE_LOCK_SHARED;
	if (!c->bytes && c->level > SQLITE_LOCK_SHARED)
		rc = level_down(c, SQLITE_LOCK_SHARED);
	if (!rc && !c->bytes) {
		if (c->level != SQLITE_LOCK_SHARED)
			return SQLITE_IOERR_SHMMAP;
		rc = c->real->pMethods->xLock(c->real, SQLITE_LOCK_SHARED);
		if (rc == SQLITE_BUSY) { /* PENDING: its process waits for the lease, as if idle */
			pthread_mutex_lock(&c->db->mutex);
			lease_say_used(c->db);
			pthread_mutex_unlock(&c->db->mutex);
		}
		if (!rc && !open_to_bytes(c)) {
			c->real->pMethods->xUnlock(c->real, SQLITE_LOCK_NONE);
			say(SQLITE_CANTOPEN,
			    "%s: a process with interop=0 uses it, so WAL mode is refused",
			    c->path);
			rc = SQLITE_CANTOPEN;
		}
	}
	if (!rc && c->needs_exclusive) {
		rc = level_up(c, SQLITE_LOCK_EXCLUSIVE);
		c->needs_exclusive = rc != SQLITE_OK;
	}
	return rc;
}

static void unmap_parents(struct connection *c, void *db);

int wal_map(struct connection *c, int region, int size, int extend, void volatile **out)
{
	struct database *db = c->db;
	int rc;

	if (c->forks != database_forks)
		return SQLITE_IOERR_SHMMAP;
	rc = leave_glocks(c);
	if (rc)
		return rc;
	database_lock();
	if (!c->maps) {
		database_parents_each(unmap_parents, db);
		rc = map_and_note(c, region, size, extend, out);
		if (rc && (rc & 0xff) != SQLITE_READONLY) /* it may have the file open */
			c->real->pMethods->xShmUnmap(c->real, 0);
	} else {
		rc = c->real->pMethods->xShmMap(c->real, region, size, extend, out);
	}
	if (!c->maps && (!rc || (rc & 0xff) == SQLITE_READONLY)) {
		c->maps = true;
		if (!db->wal.users++ && opened >= 0 && db->space && !atomic_load(&db->lost))
			get_glocks(db, opened);
	}
	if ((!rc || rc == SQLITE_READONLY) && *out && !remember(&db->wal, region, (void *)*out)) {
		*out = NULL; /* SQLite would use it later all the same */
		rc = SQLITE_IOERR_NOMEM;
	}
	database_unlock();
	return rc;
}

int wal_unmap(struct connection *c, int delete)
{
	bool is_parents = c->forks != database_forks;
	int rc;

	if (!is_parents)
		wal_leave(c);
	database_lock();
	if (c->maps && !is_parents)
		end_use(c);
	rc = c->real->pMethods->xShmUnmap(c->real, !is_parents && delete);
	c->maps = false;
	database_unlock();
	return rc;
}

/* ---- fork ---- */

/*
 * A header of a WAL index in a version that SQLite does not know. SQLite answers SQLITE_CANTOPEN to
 * a transaction that begins with it. The numbers at 10 are the checksum.
 */
static void write_unknown_header(uint32_t *header)
{
	enum { NUMBERS = 12, VERSION = 1, SUM = 10 };
	uint32_t a = 0, b = 0;

	header[0] = VERSION;
	((unsigned char *)header)[12] = 1; /* is complete */
	for (unsigned int i = 0; i < SUM; i += 2) {
		a += header[i] + b;
		b += header[i + 1] + a;
	}
	header[SUM] = a;
	header[SUM + 1] = b;
	memcpy(header + NUMBERS, header,
	       NUMBERS * sizeof(*header)); /* SQLite compares two copies */
}

/* Puts memory of this process where the map is or was. A page may have several regions. */
static void cover(const struct wal_index *w, int how)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	size_t size = page > REGION_SIZE ? page : REGION_SIZE;

	for (int i = w->n_regions - 1; i >= 0; i--) {
		void *at = (void *)((uintptr_t)w->regions[i] & ~(page - 1));
		void *got = at ? mmap(at, size, PROT_READ | PROT_WRITE,
				      MAP_PRIVATE | MAP_ANONYMOUS | how, -1, 0)
			       : NULL;

		if (got == MAP_FAILED && how == MAP_FIXED)
			munmap(at, size); /* rather no memory than the parent's */
		else if (got == at && at && !i)
			write_unknown_header(w->regions[0]);
	}
}

/*
 * The read locks are those of the open file, which the child has, too, and would outlive the
 * parent. Therefore the child opens the file once more, under the number that SQLite's VFS knows.
 * If all numbers are in use, the freed one is the next that open() gives.
 */
static void leave_locks(const struct wal_index *w)
{
	char path[32];
	int fd;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", w->fd);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (fd < 0) {
		close(w->fd);
		fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	}
	if (fd < 0 || fd == w->fd)
		return;
	dup3(fd, w->fd, O_CLOEXEC);
	close(fd);
}

/*
 * The parent's map is live, but the child has none of the locks that protect it. A rollback in the
 * child would change the parent's index. So the child gets memory of its own there, with which
 * no transaction begins. A connection that the child opens maps the file anew: see unmap_parents().
 */
void wal_after_fork(void)
{
	pthread_mutex_init(&bytes_mutex, NULL);
	for (struct database *db = databases; db; db = db->next) {
		cover(&db->wal, MAP_FIXED);
		if (db->wal.write)
			leave_locks(&db->wal);
	}
}

/*
 * Ends the parent's map in the child, so that SQLite's VFS opens the file anew, with the locks that
 * belong to it. The parent's connections may still look at the place.
 */
static void unmap_parents(struct connection *c, void *db)
{
	const struct database *of = db;

	if (!c->maps || c->db->dev != of->dev || c->db->ino != of->ino)
		return;
	c->real->pMethods->xShmUnmap(c->real, 0);
	c->maps = false;
	cover(&c->db->wal, MAP_FIXED_NOREPLACE);
}
