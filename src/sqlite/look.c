/* SPDX-License-Identifier: MIT */
/*
 * look.c - looks whether the file is still the one of which something is remembered.
 *
 * No lock keeps cp, rsync or an editor from a database. A connection that remembers the change
 * counter would go on with pages of the old file, and write them among the new ones. Therefore what
 * is remembered is compared with the file: at each RESERVED, and each 10 ms while a lease is in
 * use. If they differ, a new generation of facts begins.
 */
#include "database.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void look_learn(struct connection *c, unsigned int fact)
{
	struct known *k = &c->db->known;
	bool differs;

	pthread_mutex_lock(&c->db->mutex);
	if (k->generation != c->facts_of)
		*k = (struct known){.generation = c->facts_of};
	differs =
	    (k->facts & fact & FACT_COUNTER && memcmp(k->counter, c->counter, COUNTER_SIZE) != 0) ||
	    (k->facts & fact & FACT_SIZE && k->size != c->size);
	k->facts |= fact;
	if (fact & FACT_COUNTER)
		memcpy(k->counter, c->counter, COUNTER_SIZE);
	if (fact & FACT_SIZE)
		k->size = c->size;
	pthread_mutex_unlock(&c->db->mutex);
	if (differs)
		database_forget(c->db);
}

/* SQLite's own VFS takes a size of 1 for 0. */
static bool size_is(int fd, sqlite3_int64 size)
{
	struct stat st;

	return !fstat(fd, &st) && (st.st_size == size || (st.st_size == 1 && !size));
}

/* Returns an SQLite result: SQLITE_BUSY_SNAPSHOT if the file is not the one that SQLite knows. */
static int compare(struct connection *c)
{
	const sqlite3_io_methods *m = c->real->pMethods;
	unsigned char counter[COUNTER_SIZE];
	int rc = SQLITE_OK, there = 0;

	if (c->told & FACT_COUNTER) {
		rc = m->xRead(c->real, counter, COUNTER_SIZE, COUNTER_AT);
		if (rc == SQLITE_IOERR_SHORT_READ)
			return SQLITE_BUSY_SNAPSHOT;
		if (!rc && memcmp(counter, c->counter, COUNTER_SIZE) != 0)
			return SQLITE_BUSY_SNAPSHOT;
	}
	if (!rc && c->told & FACT_SIZE && !size_is(atomic_load(&c->db->fd), c->size))
		return SQLITE_BUSY_SNAPSHOT;
	if (!rc && c->facts & FACT_NO_JOURNAL && c->journal)
		rc = file_journal_is_hot(c, &there);
	return !rc && there ? SQLITE_BUSY_SNAPSHOT : rc;
}

int look_before_write(struct connection *c)
{
	int rc = compare(c);

	if (rc != SQLITE_BUSY_SNAPSHOT)
		return rc;
	database_forget(c->db);
	say(rc, "%s: a program changed the file without a lock; the transaction begins again",
	    c->db->path);
	return rc;
}

/* ---- the service thread ---- */

static bool counter_is(int fd, const unsigned char *counter)
{
	unsigned char now[COUNTER_SIZE];

	return pread(fd, now, sizeof(now), COUNTER_AT) == COUNTER_SIZE &&
	       memcmp(now, counter, COUNTER_SIZE) == 0;
}

/* Returns whether no file of that suffix says anything: a journal may be empty or begin with 0. */
static bool is_silent(const struct database *db, const char *suffix)
{
	char path[PATH_MAX + 16];
	unsigned char first = 0;
	int fd;

	snprintf(path, sizeof(path), "%s%s", db->path, suffix);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return errno == ENOENT;
	if (read(fd, &first, 1) < 0)
		first = 1;
	close(fd);
	return !first;
}

void look_at_file(struct database *db)
{
	struct known k;
	int fd;

	pthread_mutex_lock(&db->mutex);
	k = db->known;
	fd = atomic_load(&db->fd);
	pthread_mutex_unlock(&db->mutex);
	if (k.generation != atomic_load(&db->generation))
		return;
	if ((k.facts & FACT_COUNTER && !counter_is(fd, k.counter)) ||
	    (k.facts & FACT_SIZE && !size_is(fd, k.size)) ||
	    (k.facts & FACT_NO_JOURNAL && !is_silent(db, "-journal")) ||
	    (k.facts & FACT_NO_WAL && !is_silent(db, "-wal"))) {
		/* A writer of this process, or the end of the lease, began a new one meanwhile. */
		uint64_t of = k.generation;

		atomic_compare_exchange_strong(&db->generation, &of, of + 1);
	}
}
