/* SPDX-License-Identifier: MIT */
/* fault_db.h - the database of the tests with faults, and what its transactions do. */
#ifndef TESTS_SQLITE_FAULT_DB_H
#define TESTS_SQLITE_FAULT_DB_H

#define DB "file:app.db?hold=0" /* each hand-over at once */
#define APP DB "&vfs=glock"

/* Each row has the number in v. The rows' sizes change, so pages come and go, and the file shrinks.
 */
static const char create[] =
    "PRAGMA page_size = 512; PRAGMA auto_vacuum = full; CREATE TABLE v(n); INSERT INTO v VALUES(0);"
    "CREATE TABLE t(id INTEGER PRIMARY KEY, n, filling); WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL"
    " SELECT i + 1 FROM c WHERE i < 5) INSERT INTO t SELECT i, 0, zeroblob(300) FROM c";
#define CHANGE                                                                          \
	"UPDATE t SET n = n + 1, filling = zeroblob(200 + (n % 2) * 600); UPDATE v SET" \
	" n = n + 1;"
static const char transaction[] = "BEGIN;" CHANGE "COMMIT";
static const char consistent[] = "SELECT (SELECT count(*) FROM t) = 5 AND NOT EXISTS (SELECT 1 "
				 "FROM t WHERE n <> (SELECT n FROM v))";

#endif
