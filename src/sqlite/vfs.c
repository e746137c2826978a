/* SPDX-License-Identifier: MIT */
/*
 * vfs.c - the VFS `glock`: opens main databases with our methods, and passes the rest on.
 *
 * The VFS below is the one named `unix`, because its byte locks are those of other programs. Our
 * file has the file of that VFS behind it in the same memory.
 */
#include "database.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { OPEN_TRIES = 10 };

_Thread_local struct current_connection current GLOCK__TLS;
_Atomic uint64_t connections_closed;

sqlite3_vfs *vfs_base;
static sqlite3_vfs glock_vfs;

/* ---- parameters ---- */

static int wrong(const char *path, const char *name, const char *value, const char *right)
{
	say(SQLITE_CANTOPEN, "%s: %s=%s: give %s", path, name, value, right);
	return SQLITE_CANTOPEN;
}

static int parse_hold(struct parameters *p, const char *path, const char *value)
{
	char *end;
	long long us;

	errno = 0;
	us = strtoll(value, &end, 10);
	if (errno || end == value || *end || us < 0 || us > 10000000)
		return wrong(path, "hold", value, "microseconds from 0 to 10000000");
	p->hold = us * 1000;
	return SQLITE_OK;
}

/* The words are those of SQLite's own parameters. SQLite takes any other word for the default. */
static int parse_switch(bool *is, const char *path, const char *name)
{
	static const char *const words[] = {"0", "no", "false", "off", "1", "yes", "true", "on"};
	const char *value = sqlite3_uri_parameter(path, name);
	size_t i, n = sizeof(words) / sizeof(words[0]);

	for (i = 0; value && i < n && sqlite3_stricmp(value, words[i]) != 0; i++)
		;
	if (value && i < n)
		*is = i >= n / 2;
	return value && i == n ? wrong(path, name, value, "0 or 1") : SQLITE_OK;
}

int vfs_parameters(struct parameters *p, const char *path)
{
	const char *hold = sqlite3_uri_parameter(path, "hold");
	const char *lockman = sqlite3_uri_parameter(path, "lockman");
	const char *group = sqlite3_uri_parameter(path, "group");
	const char *env = secure_getenv("GLOCK_GROUP");

	lockman = lockman ? lockman : place_lockman(path);
	*p = (struct parameters){
	    .space = sqlite3_uri_parameter(path, "space"),
	    .lockman = lockman,
	    .group = group         ? group
		     : env && *env ? env
				   : NULL,
	    .hold = 1000000,
	    .interop = true,
	};
	if (parse_switch(&p->interop, path, "interop") || parse_switch(&p->network, path, "nfs"))
		return SQLITE_CANTOPEN;
	if (p->space && (!*p->space || strlen(p->space) > 64 || strchr(p->space, '/')))
		return wrong(path, "space", p->space, "1 to 64 bytes without '/'");
	if (p->group && (!*p->group || strlen(p->group) > 63))
		return wrong(path, "group", p->group, "the name of a group");
	if (lockman && strcmp(lockman, "etcd") == 0)
		return wrong(path, "lockman", lockman,
			     "local or dlm, because the machines that share an etcd do not share "
			     "the database's file");
	if (lockman && strcmp(lockman, "local") != 0 && strcmp(lockman, "dlm") != 0)
		return wrong(path, "lockman", lockman, "local or dlm");
	return hold ? parse_hold(p, path, hold) : SQLITE_OK;
}

/* ---- open ---- */

static bool in_wal_mode(sqlite3_file *real)
{
	unsigned char header[HEADER_SIZE];

	return !real->pMethods->xRead(real, header, sizeof(header), 0) && file_says_wal(header);
}

/*
 * A FIFO or a device holds no database, and an open of a FIFO may wait for ever. SQLite itself
 * refuses a folder.
 */
static int refuse_irregular(const char *path)
{
	struct stat st;

	if (stat(path, &st) || S_ISREG(st.st_mode) || S_ISDIR(st.st_mode))
		return SQLITE_OK;
	say(SQLITE_CANTOPEN, "%s: is no regular file; name the file of a database", path);
	return SQLITE_CANTOPEN;
}

static bool is_default(void)
{
	return sqlite3_vfs_find(NULL) == &glock_vfs;
}

static int open_main(struct connection *c, const char *path, const struct parameters *p, int flags)
{
	c->has_wal = place_has_wal(path, p);
	if (!c->has_wal && in_wal_mode(c->real))
		return file_refuse_wal(path);
	c->path = path;
	c->journal = sqlite3_filename_journal(path);
	c->wal = sqlite3_filename_wal(path);
	return open_connection(c, p, (flags & SQLITE_OPEN_READONLY) != 0);
}

/* Returns whether the path names another file now. The locks may then be those of that file. */
static bool is_replaced(const struct connection *c)
{
	int moved = 0;

	return !c->real->pMethods->xFileControl(c->real, SQLITE_FCNTL_HAS_MOVED, &moved) && moved;
}

static void close_real(struct connection *c)
{
	if (c->real->pMethods)
		c->real->pMethods->xClose(c->real);
}

/* As default VFS: a database that is refused in WAL mode is opened as without this VFS. */
static int open_as_unix(struct connection *c, const char *path, int flags, int *out)
{
	close_real(c);
	memset(c, 0, sizeof(*c));
	return vfs_base->xOpen(vfs_base, path, &c->file, flags, out);
}

/* Opens the file and its database. *again becomes true if another file came in between. */
static int open_once(struct connection *c, const char *path, int flags, int *out, bool *again)
{
	struct parameters p;
	int got = 0, rc = vfs_parameters(&p, path);

	*again = false;
	if (rc)
		return rc;
	memset(c, 0, sizeof(*c));
	c->real = (sqlite3_file *)(c + 1);
	rc = vfs_base->xOpen(vfs_base, path, c->real, flags, &got);
	if (!rc)
		rc = vfs_parameters(&p, path); /* a new file has its file system now */
	if (!rc && is_default() && !place_has_wal(path, &p) && in_wal_mode(c->real))
		return open_as_unix(c, path, flags, out);
	if (!rc)
		rc = open_main(c, path, &p, got);
	if (!rc && is_replaced(c)) {
		close_connection(c);
		*again = true;
		rc = SQLITE_CANTOPEN;
	}
	if (rc) {
		close_real(c);
		return rc;
	}
	c->file.pMethods = c->has_wal ? &file_methods_wal : &file_methods;
	if (out)
		*out = got;
	return SQLITE_OK;
}

static int open_database(struct connection *c, const char *path, int flags, int *out)
{
	bool again = true;
	int rc = refuse_irregular(path);

	for (int i = 0; !rc && again && i < OPEN_TRIES; i++) {
		rc = open_once(c, path, flags, out, &again);
		if (again)
			rc = SQLITE_OK;
	}
	if (rc || !again)
		return rc;
	say(SQLITE_CANTOPEN, "%s: is replaced again and again; open it later", path);
	return SQLITE_CANTOPEN;
}

static int vfs_open(sqlite3_vfs *vfs, const char *path, sqlite3_file *file, int flags, int *out)
{
	(void)vfs;
	if (flags & (SQLITE_OPEN_MAIN_JOURNAL | SQLITE_OPEN_WAL))
		database_journal_changed(path);
	if (flags & (SQLITE_OPEN_MAIN_JOURNAL | SQLITE_OPEN_WAL))
		return journal_open(path, file, flags, out);
	if (!(flags & SQLITE_OPEN_MAIN_DB) || !path)
		return vfs_base->xOpen(vfs_base, path, file, flags, out);
	file->pMethods = NULL;
	say_forget();
	return open_database((struct connection *)file, path, flags, out);
}

/* ---- other files ---- */

/* Returns the connection on this thread whose journal or WAL file has that path, and which. */
static struct connection *connection_with(const char *path, unsigned int *fact)
{
	struct connection *c = current.c;

	if (!c || current.closes != atomic_load_explicit(&connections_closed, memory_order_relaxed))
		return NULL;
	if (path == c->journal)
		*fact = FACT_NO_JOURNAL;
	else if (path == c->wal)
		*fact = FACT_NO_WAL;
	else
		return NULL;
	return c;
}

static SQLITE_SLOW int look_for(struct connection *c, unsigned int fact, const char *path, int *out)
{
	int rc = file_look_for(c, fact, path, out);

	if (!rc && *out && fact == FACT_NO_WAL && !c->has_wal && !c->exclusive)
		file_refuse_wal(c->db->path);
	return rc;
}

static int vfs_access(sqlite3_vfs *vfs, const char *path, int flags, int *out)
{
	unsigned int fact;
	struct connection *c = flags == SQLITE_ACCESS_EXISTS ? connection_with(path, &fact) : NULL;

	(void)vfs;
	if (!c)
		return vfs_base->xAccess(vfs_base, path, flags, out);
	/* In WAL mode a WAL file comes without a lock of the database. */
	if (!connection_has(c, fact) || (fact == FACT_NO_WAL && c->says_wal))
		return look_for(c, fact, path, out);
	*out = 0;
	return SQLITE_OK;
}

static int vfs_delete(sqlite3_vfs *vfs, const char *path, int sync)
{
	(void)vfs;
	if (database_is_parents_journal(path)) {
		say(SQLITE_IOERR_DELETE, "%s: the journal belongs to the parent process", path);
		return SQLITE_IOERR_DELETE;
	}
	database_journal_changed(path);
	return vfs_base->xDelete(vfs_base, path, sync);
}

/* ---- the rest ---- */

static int vfs_full_pathname(sqlite3_vfs *vfs, const char *path, int n, char *out)
{
	(void)vfs;
	return vfs_base->xFullPathname(vfs_base, path, n, out);
}

static void *vfs_dl_open(sqlite3_vfs *vfs, const char *path)
{
	(void)vfs;
	return vfs_base->xDlOpen(vfs_base, path);
}

static void vfs_dl_error(sqlite3_vfs *vfs, int n, char *message)
{
	(void)vfs;
	vfs_base->xDlError(vfs_base, n, message);
}

static void (*vfs_dl_sym(sqlite3_vfs *vfs, void *library, const char *symbol))(void)
{
	(void)vfs;
	return vfs_base->xDlSym(vfs_base, library, symbol);
}

static void vfs_dl_close(sqlite3_vfs *vfs, void *library)
{
	(void)vfs;
	vfs_base->xDlClose(vfs_base, library);
}

static int vfs_randomness(sqlite3_vfs *vfs, int n, char *out)
{
	(void)vfs;
	return vfs_base->xRandomness(vfs_base, n, out);
}

/* SQLite's busy handler sleeps here. The wait ends early when the lock comes. */
static int vfs_sleep(sqlite3_vfs *vfs, int us)
{
	(void)vfs;
	return level_sleep(us) ? us : vfs_base->xSleep(vfs_base, us);
}

static int vfs_current_time(sqlite3_vfs *vfs, double *now)
{
	(void)vfs;
	return vfs_base->xCurrentTime(vfs_base, now);
}

/* SQLite asks for the number only. A program may ask for the reason of a refusal. */
static int vfs_last_error(sqlite3_vfs *vfs, int n, char *message)
{
	(void)vfs;
	if (n > 0 && message)
		snprintf(message, (size_t)n, "%s", say_last());
	return vfs_base->xGetLastError ? vfs_base->xGetLastError(vfs_base, 0, NULL) : 0;
}

static int vfs_current_time64(sqlite3_vfs *vfs, sqlite3_int64 *now)
{
	(void)vfs;
	return vfs_base->xCurrentTimeInt64(vfs_base, now);
}

static int vfs_set_call(sqlite3_vfs *vfs, const char *name, sqlite3_syscall_ptr call)
{
	(void)vfs;
	return vfs_base->xSetSystemCall(vfs_base, name, call);
}

static sqlite3_syscall_ptr vfs_get_call(sqlite3_vfs *vfs, const char *name)
{
	(void)vfs;
	return vfs_base->xGetSystemCall(vfs_base, name);
}

static const char *vfs_next_call(sqlite3_vfs *vfs, const char *name)
{
	(void)vfs;
	return vfs_base->xNextSystemCall(vfs_base, name);
}

static sqlite3_vfs glock_vfs = {
    .iVersion = 3,
    .zName = "glock",
    .xOpen = vfs_open,
    .xDelete = vfs_delete,
    .xAccess = vfs_access,
    .xFullPathname = vfs_full_pathname,
    .xDlOpen = vfs_dl_open,
    .xDlError = vfs_dl_error,
    .xDlSym = vfs_dl_sym,
    .xDlClose = vfs_dl_close,
    .xRandomness = vfs_randomness,
    .xSleep = vfs_sleep,
    .xCurrentTime = vfs_current_time,
    .xGetLastError = vfs_last_error,
    .xCurrentTimeInt64 = vfs_current_time64,
    .xSetSystemCall = vfs_set_call,
    .xGetSystemCall = vfs_get_call,
    .xNextSystemCall = vfs_next_call,
};

int vfs_register(bool make_default)
{
	if (!vfs_base) {
		vfs_base = sqlite3_vfs_find("unix");
		if (!vfs_base || vfs_base->iVersion < 3) {
			say(SQLITE_ERROR,
			    "SQLite has no VFS named unix, so the VFS glock cannot work");
			vfs_base = NULL;
			return SQLITE_ERROR;
		}
		glock_vfs.szOsFile = (int)sizeof(struct connection) + vfs_base->szOsFile;
		glock_vfs.mxPathname = vfs_base->mxPathname;
	}
	/* SQLite moves a VFS that is registered already */
	return sqlite3_vfs_register(&glock_vfs, make_default);
}
