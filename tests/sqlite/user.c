/* SPDX-License-Identifier: MIT */
/*
 * user.c - a program that knows nothing of the VFS: prints the VFS of three connections. It is also
 * a module of host.c.
 */
#include <sqlite3.h>
#include <stdio.h>

static int print_vfs(sqlite3 *db)
{
	char *name = NULL;
	int rc = sqlite3_exec(db, "CREATE TABLE IF NOT EXISTS t(n)", NULL, NULL, NULL);

	sqlite3_file_control(db, "main", SQLITE_FCNTL_VFSNAME, &name);
	printf("%s", name ? name : "none");
	sqlite3_free(name);
	return rc || sqlite3_close(db);
}

int use_copy(void);

/* For host.c. */
int use_copy(void)
{
	sqlite3 *db;

	if (sqlite3_open("app.db", &db) || print_vfs(db))
		return 1;
	putchar('\n');
	return 0;
}

int main(int argc, char **argv)
{
	sqlite3 *db;

	if (argc != 2 || sqlite3_config(SQLITE_CONFIG_MULTITHREAD) || sqlite3_open(argv[1], &db) ||
	    print_vfs(db))
		return 1;
	putchar(' ');
	if (sqlite3_open_v2(argv[1], &db, SQLITE_OPEN_READWRITE, NULL) || print_vfs(db))
		return 1;
	putchar(' ');
	if (sqlite3_shutdown() || sqlite3_initialize() || sqlite3_open(argv[1], &db) ||
	    print_vfs(db))
		return 1;
	putchar('\n');
	return 0;
}
