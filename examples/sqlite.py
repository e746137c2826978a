#!/usr/bin/env python3
"""sqlite.py - counts in an SQLite database as sqlite.c does, locked by glocks.

Usage: sqlite.py EXTENSION DATABASE N. EXTENSION is libglock_sqlite.so. With `glock sqlite python3 ...` a program
needs neither the extension nor a URI: give - as EXTENSION.
"""
import contextlib
import sqlite3
import sys


def connect(extension, database):
    if extension == "-":  # glock sqlite made the VFS the default one
        return sqlite3.connect(database, timeout=10, isolation_level=None)
    with contextlib.closing(sqlite3.connect(":memory:")) as any_connection:
        any_connection.enable_load_extension(True)
        any_connection.load_extension(extension)  # stays until the process ends
    return sqlite3.connect(f"file:{database}?vfs=glock", uri=True, timeout=10, isolation_level=None)


def main():
    extension, database, n = sys.argv[1:]
    with contextlib.closing(connect(extension, database)) as db:
        db.execute("CREATE TABLE IF NOT EXISTS counter(n)")
        db.execute("INSERT INTO counter SELECT 0 WHERE NOT EXISTS (SELECT * FROM counter)")
        for _ in range(int(n)):
            db.execute("UPDATE counter SET n = n + 1")
        print("n is", db.execute("SELECT n FROM counter").fetchone()[0])


if __name__ == "__main__":
    main()
