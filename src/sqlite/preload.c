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
 * COPIES OF SQLITE
 *
 * The library does not need libsqlite3. A program without SQLite would otherwise load it. Python
 * loads SQLite for its module only, so RTLD_NEXT does not find it there. And a module may be linked
 * with a copy of its own. A call must reach the copy that it reaches without this library, because
 * a connection of one copy is no connection of another. That copy is the first one of:
 *   1. the program's libraries behind this one,
 *   2. the library of the caller and the libraries that it needs,
 *   3. the only loaded library with SQLite: the caller's last call may be a jump.
 *
 * A module that is loaded with RTLD_DEEPBIND, as each module of PHP, would find SQLite before this
 * library. Therefore the flag is taken off. A program or module with a copy of SQLite in its own
 * file, as better-sqlite3 of Node, calls that copy without a symbol: a line says so.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#pragma GCC visibility push(default)
int sqlite3_open(const char *path, sqlite3 **db);
int sqlite3_open16(const void *path, sqlite3 **db);
int sqlite3_open_v2(const char *path, sqlite3 **db, int flags, const char *vfs);
#ifndef RTLD_DEEPBIND
#define RTLD_DEEPBIND 0 /* musl has no such mode */
#endif

void *dlopen(const char *path, int flags);
#pragma GCC visibility pop

enum { COPIES = 8 };

/* A copy of SQLite in this process. */
struct copy {
	int (*open)(const char *, sqlite3 **);
	int (*open16)(const void *, sqlite3 **);
	int (*open_v2)(const char *, sqlite3 **, int, const char *);
	int (*close)(sqlite3 *);
	int (*config)(sqlite3 *, int, ...);
	int (*load)(sqlite3 *, const char *, const char *, char **);
	sqlite3_vfs *(*find)(const char *);
	int (*make_default)(sqlite3_vfs *, int);
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct copy copies[COPIES]; /* changes under the mutex, and then stays */

static void refuse(const char *why)
{
	fprintf(stderr, "glock sqlite: %s; SQLite works without glocks here\n", why);
}

/* ---- modules ---- */

typedef void *dlopen_fn(const char *, int);
static dlopen_fn *next_dlopen;

/*
 * Says so if the file has SQLite in itself: the schema of the table of all schemas, without the
 * name of the shared library. The first bytes of a database are no sign, because libmagic has them.
 */
static void look_for_copy(const char *path, const char *name)
{
	static const char schema[] = "CREATE TABLE x(type text,name text,tbl_name text,";
	static const char library[] = "libsqlite3.so";
	bool ours = strstr(path, "/libglock_sqlite");
	int fd = strchr(path, '/') && !ours ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	void *file = MAP_FAILED;
	struct stat st;

	if (fd >= 0 && !fstat(fd, &st) && st.st_size > 0)
		file = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (fd >= 0)
		close(fd);
	if (file == MAP_FAILED)
		return;
	if (memmem(file, (size_t)st.st_size, schema, sizeof(schema) - 1) &&
	    !memmem(file, (size_t)st.st_size, library, sizeof(library) - 1))
		fprintf(stderr,
			"glock sqlite: %s has a copy of SQLite; SQLite works without glocks here; "
			"load libglock_sqlite with the entry point sqlite3_glock_default_init\n",
			name);
	munmap(file, (size_t)st.st_size);
}

/* Returns what is loaded: the program, without a path, and its libraries. */
static struct link_map *all_loaded(void)
{
	void *program = next_dlopen(NULL, RTLD_NOW);
	struct link_map *map = NULL;

	return program && !dlinfo(program, RTLD_DI_LINKMAP, &map) ? map : NULL;
}

__attribute__((constructor)) static void start_modules(void)
{
	if (next_dlopen)
		return; /* another library's constructor called dlopen() before */
	next_dlopen = (dlopen_fn *)dlsym(RTLD_NEXT, "dlopen");
	look_for_copy("/proc/self/exe", program_invocation_name);
	for (struct link_map *map = all_loaded(); map; map = map->l_next)
		look_for_copy(map->l_name, map->l_name);
}

/*
 * The last call is a jump in optimised code, so that the C library sees its caller, whose folders
 * it searches.
 */
void *dlopen(const char *path, int flags)
{
	start_modules();
	if (path && !(flags & RTLD_NOLOAD))
		look_for_copy(path, path);
	return next_dlopen(path, flags & ~RTLD_DEEPBIND);
}

/* ---- the copy of a caller ---- */

/* Returns the loaded library with that path, or NULL. A library that is in use stays. */
static void *loaded(const char *path)
{
	void *library = *path ? dlopen(path, RTLD_NOW | RTLD_NOLOAD) : NULL;

	if (library)
		dlclose(library);
	return library;
}

/* Returns the only loaded library that has SQLite, or NULL. */
static void *only_library(void)
{
	void *found = NULL, *open = NULL;

	for (struct link_map *map = all_loaded(); map; map = map->l_next) {
		void *library = loaded(map->l_name);
		void *its = library ? dlsym(library, "sqlite3_open_v2") : NULL;

		if (!its || its == (void *)sqlite3_open_v2 || its == open)
			continue;
		if (open)
			return NULL;
		open = its;
		found = library;
	}
	return found;
}

/* Stores where to look for the functions of the caller's copy. Returns false if there is none. */
static bool find_library(const void *caller, void **library)
{
	Dl_info info;

	*library = RTLD_NEXT;
	if (dlsym(RTLD_NEXT, "sqlite3_open_v2"))
		return true;
	*library = dladdr(caller, &info) && info.dli_fname ? loaded(info.dli_fname) : NULL;
	if (*library && dlsym(*library, "sqlite3_open_v2"))
		return true;
	*library = only_library();
	return *library != NULL;
}

/* ---- the VFS ---- */

/* Loads the extension from the folder of this library. */
static void load_extension(const struct copy *c)
{
	char path[4096] = "", *error = NULL;
	sqlite3 *db = NULL;
	void *extension;
	Dl_info me;
	const char *slash;

	if (dladdr((void *)&mutex, &me) && (slash = strrchr(me.dli_fname, '/')))
		snprintf(path, sizeof(path), "%.*s/libglock_sqlite.so", (int)(slash - me.dli_fname),
			 me.dli_fname);
	/* SQLite would try a second name, and tell only why that one is not found. */
	extension = next_dlopen(path, RTLD_NOW);
	if (!extension) {
		refuse(dlerror());
		return;
	}
	if (c->open(":memory:", &db) ||
	    c->config(db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 1, NULL) ||
	    c->load(db, path, NULL, &error))
		refuse(error ? error : "libglock_sqlite.so cannot be loaded");
	c->close(db);
	dlclose(extension);
}

static void start(struct copy *c, void *library)
{
	void *found[] = {
	    dlsym(library, "sqlite3_open"),      dlsym(library, "sqlite3_open16"),
	    dlsym(library, "sqlite3_open_v2"),   dlsym(library, "sqlite3_close"),
	    dlsym(library, "sqlite3_db_config"), dlsym(library, "sqlite3_load_extension"),
	    dlsym(library, "sqlite3_vfs_find"),  dlsym(library, "sqlite3_vfs_register"),
	};

	_Static_assert(sizeof(found) == sizeof(*c), "a pointer for each function");
	memcpy(c, found, sizeof(*c));
	if (c->open && c->close && c->config && c->load && c->find && c->make_default)
		load_extension(c);
	else
		refuse("this SQLite has no extensions");
}

/* Returns the copy of SQLite that the caller uses. A program that chose another default keeps it.
 */
static const struct copy *prepare(const void *caller)
{
	struct copy *c = copies;
	sqlite3_vfs *ours, *now;
	void *library;

	if (!find_library(caller, &library)) {
		refuse("the SQLite of this program is not found");
		return NULL;
	}
	pthread_mutex_lock(&mutex);
	while (c < copies + COPIES && c->open_v2 &&
	       (void *)c->open_v2 != dlsym(library, "sqlite3_open_v2"))
		c++;
	if (c < copies + COPIES && !c->open_v2)
		start(c, library);
	pthread_mutex_unlock(&mutex);
	if (c == copies + COPIES) {
		refuse("this program has too many copies of SQLite");
		return NULL;
	}
	if (!c->find || !c->make_default)
		return c;
	ours = c->find("glock");
	now = c->find(NULL);
	if (ours && now && strcmp(now->zName, "unix") == 0)
		c->make_default(ours, 1);
	return c;
}

int sqlite3_open(const char *path, sqlite3 **db)
{
	const struct copy *c = prepare(__builtin_return_address(0));

	return c && c->open ? c->open(path, db) : SQLITE_ERROR;
}

int sqlite3_open16(const void *path, sqlite3 **db)
{
	const struct copy *c = prepare(__builtin_return_address(0));

	return c && c->open16 ? c->open16(path, db) : SQLITE_ERROR;
}

int sqlite3_open_v2(const char *path, sqlite3 **db, int flags, const char *vfs)
{
	const struct copy *c = prepare(__builtin_return_address(0));

	return c && c->open_v2 ? c->open_v2(path, db, flags, vfs) : SQLITE_ERROR;
}
