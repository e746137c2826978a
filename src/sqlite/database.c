/* SPDX-License-Identifier: MIT */
/* database.c - the registry of databases, see database.h; fork and exit. */
#include "database.h"
#include "bytes.h"
#include "grip.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

unsigned int database_forks;

static pthread_mutex_t registry_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t unpinned = PTHREAD_COND_INITIALIZER;
struct database *databases;
static struct database *parents; /* databases of the process before fork(); for look-ups only */
static uint64_t last_id;

/* ---- the registry ---- */

void database_lock(void)
{
	pthread_mutex_lock(&registry_mutex);
}

void database_unlock(void)
{
	pthread_mutex_unlock(&registry_mutex);
}

/*
 * Connections by the path of their database. A process may have thousands of databases, and each
 * commit opens and deletes a journal.
 */
enum { PATHS = 4096 };
static struct connection *by_path[PATHS];

/* Fowler, Noll and Vo's hash, FNV-1a. */
static struct connection **bucket_of(const char *path, size_t len)
{
	uint32_t hash = 2166136261u;

	for (size_t i = 0; i < len; i++)
		hash = (hash ^ (unsigned char)path[i]) * 16777619u;
	return &by_path[hash % PATHS];
}

static void path_add(struct connection *c)
{
	struct connection **bucket = bucket_of(c->path, strlen(c->path));

	c->next_by_path = *bucket;
	*bucket = c;
}

static void path_remove(struct connection *c)
{
	struct connection **at = bucket_of(c->path, strlen(c->path));

	while (*at != c)
		at = &(*at)->next_by_path;
	*at = c->next_by_path;
}

void database_journal_changed(const char *path)
{
	const char *suffix = path ? strrchr(path, '-') : NULL;
	size_t len = suffix ? (size_t)(suffix - path) : 0;

	if (!suffix)
		return;
	pthread_mutex_lock(&registry_mutex);
	for (struct connection *c = *bucket_of(path, len); c; c = c->next_by_path)
		if (strncmp(c->path, path, len) == 0 && !c->path[len])
			database_forget(c->db);
	pthread_mutex_unlock(&registry_mutex);
}

void database_add(struct database *db, struct connection *c)
{
	c->db = db;
	c->id = ++last_id;
	c->forks = database_forks;
	db->users++;
	path_add(c);
	pthread_mutex_lock(&db->mutex);
	c->next = db->connections;
	db->connections = c;
	pthread_mutex_unlock(&db->mutex);
}

void database_remove(struct connection *c)
{
	struct database *db = c->db;
	struct connection **at = &db->connections;

	pthread_mutex_lock(&db->mutex);
	while (c->pins) /* the thread that has the pin needs no registry */
		pthread_cond_wait(&db->changed, &db->mutex);
	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
	grip_keep_counts(c);
	pthread_mutex_unlock(&db->mutex);
	path_remove(c);
	db->users--;
}

void database_free(struct database *db)
{
	database_put_glocks(db);
	bytes_lock(db->fd, 0, 0, BYTES_FREE); /* 0 bytes: the whole file */
	bytes_close(db->files[0]);
	bytes_close(db->files[1]);
	pthread_mutex_destroy(&db->mutex);
	pthread_cond_destroy(&db->changed);
	free(db);
}

void database_free_unused(void)
{
	struct database **at = &databases;

	while (*at) {
		struct database *db = *at;

		if (db->users) {
			at = &db->next;
			continue;
		}
		*at = db->next;
		database_free(db);
	}
}

void database_each(void (*f)(struct database *db, void *arg), void *arg)
{
	pthread_mutex_lock(&registry_mutex);
	for (struct database *db = databases; db; db = db->next)
		f(db, arg);
	pthread_mutex_unlock(&registry_mutex);
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

/* May run under the internal lock of a glock. A space of the DLM may come back. */
void database_lost(struct database *db)
{
	if (!db->may_degrade)
		return;
	atomic_store(&db->lost, true);
	space_lost(db->space);
}

/* May run under the internal lock of a glock. */
void database_wanted(struct database *db, uint64_t demand)
{
	atomic_fetch_add(&db->demands, demand);
	if (atomic_load(&db->in_use))
		service_ring();
}

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

	wal_after_fork();
	for (; *last; last = &(*last)->next) {
		for (int i = 0; i < 2; i++)
			if ((*last)->descriptors[i] > 0)
				close((*last)->descriptors[i]);
		for (struct connection *c = (*last)->connections; c; c = c->next)
			atomic_store(&c->unlocked, true);
	}
	memset(by_path, 0, sizeof(by_path));
	*last = parents;
	parents = databases;
	databases = NULL;
	database_forks++;
	spaces_forget();
	service_forget();
	pthread_mutex_unlock(&registry_mutex);
	pthread_cond_init(&unpinned, NULL);
}

void database_put_glocks(struct database *db)
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

/* The child uses nothing of the parent's databases but their connections. */
void database_parents_each(void (*f)(struct connection *c, void *arg), void *arg)
{
	for (struct database *db = parents; db; db = db->next)
		for (struct connection *c = db->connections; c; c = c->next)
			f(c, arg);
}

static void unlock_parents(struct connection *c, void *arg)
{
	(void)arg;
	if (c->bytes && c->level != SQLITE_LOCK_NONE)
		c->real->pMethods->xUnlock(c->real, SQLITE_LOCK_NONE);
}

void database_parents_unlock(void)
{
	database_parents_each(unlock_parents, NULL);
}

void database_parents_forget(struct connection *c)
{
	for (struct database *db = parents; db; db = db->next)
		for (struct connection **at = &db->connections; *at; at = &(*at)->next)
			if (*at == c) {
				*at = c->next;
				break;
			}
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

void database_start(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, start_once);
}
