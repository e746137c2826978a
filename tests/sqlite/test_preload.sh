#!/bin/sh
# test_preload.sh - tests that `glock sqlite` reaches programs that know nothing of the VFS. TAP.
#
# Usage: test_preload.sh GLOCK FOLDER USER HOST COPY MODULE. FOLDER has the libraries. USER is a program with SQLite.
# HOST is a program that loads COPY, a module with a copy of SQLite, or MODULE, which needs the shared library.
set -u
. "$(dirname "$0")/../tap.sh"
glock=$(realpath "$1")
GLOCK_SQLITE_DIR=$(realpath "$2")
user=$(realpath "$3")
host=$(realpath "$4")
copy=$(realpath "$5")
module=$(realpath "$6")
export GLOCK_SQLITE_DIR
cd "${GLOCK_DIR%/spaces}/data" || exit 1
tap_log=$GLOCK_DIR/../log

"$glock" sqlite "$user" app.db >"$tap_log" 2>&1 && [ "$(cat "$tap_log")" = "glock/unix glock/unix glock/unix" ]
result $? "open, open_v2, and open after a shutdown of SQLite use the VFS"
"$user" app.db >"$tap_log" 2>&1 && [ "$(cat "$tap_log")" = "unix unix unix" ]
result $? "without glock sqlite the program uses SQLite's own VFS"
"$glock" sqlite "$host" "$copy" >"$tap_log" 2>&1 && grep -qx 'its own' "$tap_log"
result $? "a module with a copy of SQLite reaches its own copy"
"$glock" sqlite "$host" "$copy" libsqlite3.so.0 >"$tap_log" 2>&1 && grep -qx 'its own' "$tap_log"
result $? "also if another copy is loaded"
"$glock" sqlite sh -c 'exit 7' >"$tap_log" 2>&1
[ $? = 7 ] && [ ! -s "$tap_log" ]
result $? "a program without SQLite runs as before, with its exit status"
printf '\177ELF\2\1\1' >static
head -c 200 /dev/zero >>static
chmod +x static
"$glock" sqlite ./static >"$tap_log" 2>&1
[ $? = 69 ] && grep -q '^glock sqlite: ./static is a static program: no library can be loaded' "$tap_log"
result $? "a static program is refused with the reason"
schema='CREATE TABLE x(type text,name text,tbl_name text,rootpage int,sql text)'
cp "$host" inside
printf '%s' "$schema" >>inside
"$glock" sqlite sh -c './inside "$1"' sh "$copy" >"$tap_log" 2>&1 && grep -qx 'its own' "$tap_log" &&
	grep -q '^glock sqlite: ./inside has a copy of SQLite; SQLite works without glocks here' "$tap_log"
result $? "of a program with SQLite in its file, also of a shell, a line tells why it has no glocks"
"$glock" sqlite "$user" app.db >"$tap_log" 2>&1 && ! grep -q 'has a copy' "$tap_log"
result $? "of a program with SQLite as a shared library, no line tells"
mkdir 'a folder' 'a:b'
cp "$GLOCK_SQLITE_DIR"/libglock_sqlite*.so 'a folder'
cp "$GLOCK_SQLITE_DIR"/libglock_sqlite*.so a:b
GLOCK_SQLITE_DIR="$PWD/a folder" "$glock" sqlite "$user" app.db >"$tap_log" 2>&1 &&
	[ "$(cat "$tap_log")" = "glock/unix glock/unix glock/unix" ]
result $? "a folder with a blank works"
GLOCK_SQLITE_DIR="$PWD/a:b" "$glock" sqlite "$user" app.db >"$tap_log" 2>&1
[ $? = 69 ] && grep -q 'a:b: LD_PRELOAD can have no path with a colon' "$tap_log"
result $? "a folder with a colon is refused, because LD_PRELOAD cannot have it"
GLOCK_SQLITE_DIR=/nowhere "$glock" sqlite true >"$tap_log" 2>&1
[ $? = 69 ] && grep -q 'GLOCK_SQLITE_DIR' "$tap_log"
result $? "without the libraries the message names the way out"
"$glock" sqlite >"$tap_log" 2>&1
[ $? = 64 ]
result $? "without COMMAND the usage is wrong"
HOST_DEEP=1 "$glock" sqlite "$host" "$module" >"$tap_log" 2>&1 && [ "$(cat "$tap_log")" = glock/unix ]
result $? "a module that is loaded with RTLD_DEEPBIND, as by PHP, uses the VFS"
cp "$copy" copy.so
printf 'SQLite format 3\0' >>copy.so
"$glock" sqlite "$host" ./copy.so >"$tap_log" 2>&1 && grep -qx 'its own' "$tap_log" && ! grep -q 'has a copy' "$tap_log"
result $? "of a module that knows the first bytes of a database, as libmagic, no line tells"
printf '%s' "$schema" >>copy.so
"$glock" sqlite "$host" ./copy.so >"$tap_log" 2>&1 && grep -qx 'its own' "$tap_log" &&
	grep -q '^glock sqlite: ./copy.so has a copy of SQLite; SQLite works without glocks here' "$tap_log"
result $? "of a module with SQLite in its file, as better-sqlite3, a line tells the way out"
if [ "$(id -u)" = 0 ]; then
	cp "$user" setgid
	chown 65534:65534 setgid
	chmod 6755 setgid
	"$glock" sqlite ./setgid app.db >"$tap_log" 2>&1
	grep -q '^glock sqlite: ./setgid gets rights by its file' "$tap_log"
	result $? "of a setuid program a line tells why it has no glocks"
fi
plan
