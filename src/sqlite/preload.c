/* SPDX-License-Identifier: MIT */
/*
 * preload.c - libglock_sqlite_preload.so: makes `glock` the default VFS of a program that knows
 * nothing of it. `glock sqlite` sets LD_PRELOAD to this library.
 *
 * The library stands before SQLite's functions that open a database. The first call loads
 * libglock_sqlite.so from the same folder, by SQLite's own functions. Each call makes the VFS the
 * default one, because sqlite3_initialize() after sqlite3_shutdown() takes that back. A constructor
 * would be too early: sqlite3_config() is an error once SQLite is initialised.
 *
 * The library does not need libsqlite3. A program without SQLite would otherwise load it. Python
 * loads SQLite for its module only, so RTLD_NEXT does not find it there.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#pragma GCC visibility push(default)
int sqlite3_open(const char *path, sqlite3 **db);
int sqlite3_open16(const void *path, sqlite3 **db);
int sqlite3_open_v2(const char *path, sqlite3 **db, int flags, const char *vfs);
#pragma GCC visibility pop

static pthread_once_t once = PTHREAD_ONCE_INIT;

static struct {
	int (*open)(const char *, sqlite3 **);
	int (*open16)(const void *, sqlite3 **);
	int (*open_v2)(const char *, sqlite3 **, int, const char *);
	int (*close)(sqlite3 *);
	int (*config)(sqlite3 *, int, ...);
	int (*load)(sqlite3 *, const char *, const char *, char **);
	sqlite3_vfs *(*find)(const char *);
	int (*make_default)(sqlite3_vfs *, int);
} real;

/* Stores the address of SQLite's function. */
static void find(void *to, const char *name)
{
	void *library, *found = dlsym(RTLD_NEXT, name);

	if (!found) {
		library = dlopen("libsqlite3.so.0", RTLD_NOW | RTLD_NOLOAD);
		found = library ? dlsym(library, name) : NULL;
	}
	memcpy(to, &found, sizeof(found));
}

static void refuse(const char *why)
{
	fprintf(stderr, "glock sqlite: %s; SQLite works without glocks here\n", why);
}

/* Loads the extension from the folder of this library. */
static void load_extension(void)
{
	char path[4096] = "";
	sqlite3 *db = NULL;
	Dl_info me;
	const char *slash;

	if (dladdr((void *)&once, &me) && (slash = strrchr(me.dli_fname, '/')))
		snprintf(path, sizeof(path), "%.*s/libglock_sqlite.so", (int)(slash - me.dli_fname),
			 me.dli_fname);
	if (real.open(":memory:", &db) ||
	    real.config(db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 1, NULL) ||
	    real.load(db, path, NULL, NULL))
		refuse("libglock_sqlite.so cannot be loaded");
	real.close(db);
}

static void start(void)
{
	find(&real.open, "sqlite3_open");
	find(&real.open16, "sqlite3_open16");
	find(&real.open_v2, "sqlite3_open_v2");
	find(&real.close, "sqlite3_close");
	find(&real.config, "sqlite3_db_config");
	find(&real.load, "sqlite3_load_extension");
	find(&real.find, "sqlite3_vfs_find");
	find(&real.make_default, "sqlite3_vfs_register");
	if (real.open && real.close && real.config && real.load && real.find && real.make_default)
		load_extension();
	else
		refuse("this SQLite has no extensions");
}

/* A program that chose another default keeps it. */
static void prepare(void)
{
	sqlite3_vfs *ours, *now;

	pthread_once(&once, start);
	if (!real.find || !real.make_default)
		return;
	ours = real.find("glock");
	now = real.find(NULL);
	if (ours && now && strcmp(now->zName, "unix") == 0)
		real.make_default(ours, 1);
}

int sqlite3_open(const char *path, sqlite3 **db)
{
	prepare();
	return real.open ? real.open(path, db) : SQLITE_ERROR;
}

int sqlite3_open16(const void *path, sqlite3 **db)
{
	prepare();
	return real.open16 ? real.open16(path, db) : SQLITE_ERROR;
}

int sqlite3_open_v2(const char *path, sqlite3 **db, int flags, const char *vfs)
{
	prepare();
	return real.open_v2 ? real.open_v2(path, db, flags, vfs) : SQLITE_ERROR;
}
