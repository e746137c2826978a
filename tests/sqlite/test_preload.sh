#!/bin/sh
# test_preload.sh - tests that `glock sqlite` reaches programs that know nothing of the VFS. TAP.
#
# Usage: test_preload.sh GLOCK FOLDER USER. FOLDER has the libraries. USER is a program with SQLite.
set -u
. "$(dirname "$0")/../tap.sh"
glock=$(realpath "$1")
GLOCK_SQLITE_DIR=$(realpath "$2")
user=$(realpath "$3")
export GLOCK_SQLITE_DIR
cd "${GLOCK_DIR%/spaces}/data" || exit 1
tap_log=$GLOCK_DIR/../log

"$glock" sqlite "$user" app.db >"$tap_log" 2>&1 && [ "$(cat "$tap_log")" = "glock/unix glock/unix glock/unix" ]
result $? "open, open_v2, and open after a shutdown of SQLite use the VFS"
"$user" app.db >"$tap_log" 2>&1 && [ "$(cat "$tap_log")" = "unix unix unix" ]
result $? "without glock sqlite the program uses SQLite's own VFS"
"$glock" sqlite sh -c 'exit 7' >"$tap_log" 2>&1
[ $? = 7 ] && [ ! -s "$tap_log" ]
result $? "a program without SQLite runs as before, with its exit status"
printf '\177ELF\2\1\1' >static
head -c 200 /dev/zero >>static
chmod +x static
"$glock" sqlite ./static >"$tap_log" 2>&1
[ $? = 69 ] && grep -q '^glock sqlite: ./static is a static program: no library can be loaded' "$tap_log"
result $? "a static program is refused with the reason"
GLOCK_SQLITE_DIR=/nowhere "$glock" sqlite true >"$tap_log" 2>&1
[ $? = 69 ] && grep -q 'GLOCK_SQLITE_DIR' "$tap_log"
result $? "without the libraries the message names the way out"
"$glock" sqlite >"$tap_log" 2>&1
[ $? = 64 ]
result $? "without COMMAND the usage is wrong"
plan
