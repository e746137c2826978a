/* SPDX-License-Identifier: MIT */
/*
 * journal.c - the methods of a journal and of a WAL file: a child does not use those of its parent.
 *
 * After fork() both processes have the journal open. A child that rolls back would end the parent's
 * journal. A crash of the parent would then leave half a transaction. Everything else goes to the
 * file of the VFS below.
 */
#include "database.h"

#include <string.h>

struct journal {
	sqlite3_file file;
	sqlite3_file *real; /* behind this struct */
	const char *path;   /* SQLite's, which lives as long as the file */
	unsigned int forks; /* of the process that opened it */
};

_Static_assert(sizeof(struct journal) <= sizeof(struct connection), "SQLite's room for a file");

static struct journal *journal_of(sqlite3_file *file)
{
	return (struct journal *)file;
}

static sqlite3_file *real_of(sqlite3_file *file)
{
	return journal_of(file)->real;
}

static int refuse_child(const struct journal *j, int result)
{
	if (j->forks == database_forks)
		return SQLITE_OK;
	say(result, "%s: not changed, because the journal belongs to the parent process", j->path);
	return result;
}

static int journal_close(sqlite3_file *file)
{
	return real_of(file)->pMethods->xClose(real_of(file));
}

static int journal_read(sqlite3_file *file, void *to, int n, sqlite3_int64 at)
{
	int rc = refuse_child(journal_of(file), SQLITE_IOERR_READ);

	return rc ? rc : real_of(file)->pMethods->xRead(real_of(file), to, n, at);
}

static int journal_write(sqlite3_file *file, const void *from, int n, sqlite3_int64 at)
{
	int rc = refuse_child(journal_of(file), SQLITE_IOERR_WRITE);

	return rc ? rc : real_of(file)->pMethods->xWrite(real_of(file), from, n, at);
}

static int journal_truncate(sqlite3_file *file, sqlite3_int64 size)
{
	int rc = refuse_child(journal_of(file), SQLITE_IOERR_TRUNCATE);

	return rc ? rc : real_of(file)->pMethods->xTruncate(real_of(file), size);
}

static int journal_sync(sqlite3_file *file, int flags)
{
	return real_of(file)->pMethods->xSync(real_of(file), flags);
}

static int journal_size(sqlite3_file *file, sqlite3_int64 *size)
{
	return real_of(file)->pMethods->xFileSize(real_of(file), size);
}

static int journal_lock(sqlite3_file *file, int level)
{
	return real_of(file)->pMethods->xLock(real_of(file), level);
}

static int journal_unlock(sqlite3_file *file, int level)
{
	return real_of(file)->pMethods->xUnlock(real_of(file), level);
}

static int journal_check_reserved(sqlite3_file *file, int *out)
{
	return real_of(file)->pMethods->xCheckReservedLock(real_of(file), out);
}

static int journal_control(sqlite3_file *file, int op, void *arg)
{
	return real_of(file)->pMethods->xFileControl(real_of(file), op, arg);
}

static int journal_sector_size(sqlite3_file *file)
{
	return real_of(file)->pMethods->xSectorSize(real_of(file));
}

static int journal_characteristics(sqlite3_file *file)
{
	return real_of(file)->pMethods->xDeviceCharacteristics(real_of(file));
}

static const sqlite3_io_methods journal_methods = {
    .iVersion = 1,
    .xClose = journal_close,
    .xRead = journal_read,
    .xWrite = journal_write,
    .xTruncate = journal_truncate,
    .xSync = journal_sync,
    .xFileSize = journal_size,
    .xLock = journal_lock,
    .xUnlock = journal_unlock,
    .xCheckReservedLock = journal_check_reserved,
    .xFileControl = journal_control,
    .xSectorSize = journal_sector_size,
    .xDeviceCharacteristics = journal_characteristics,
};

int journal_open(const char *path, sqlite3_file *file, int flags, int *out)
{
	struct journal *j = journal_of(file);
	int rc;

	memset(j, 0, sizeof(*j));
	j->real = (sqlite3_file *)(j + 1);
	j->path = path;
	j->forks = database_forks;
	rc = vfs_base->xOpen(vfs_base, path, j->real, flags, out);
	if (!rc)
		file->pMethods = &journal_methods;
	else if (j->real->pMethods)
		j->real->pMethods->xClose(j->real);
	return rc;
}
