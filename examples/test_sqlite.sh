#!/bin/sh
# test_sqlite.sh - runs the examples with SQLite side by side, and checks that no step gets lost. TAP.
#
# Usage: test_sqlite.sh EXAMPLE GLOCK FOLDER. FOLDER has the libraries. GLOCK - means without it.
set -u
here=$(dirname "$0")
. "$here/../tests/tap.sh"
example=$(realpath "$1")
GLOCK_SQLITE_DIR=$(realpath "$3")
export GLOCK_SQLITE_DIR
glock=$2
[ "$glock" = - ] || glock=$(realpath "$glock")
extension=$GLOCK_SQLITE_DIR/libglock_sqlite.so
python=$(realpath "$here")/sqlite.py
cd "${GLOCK_DIR%/spaces}/data" || exit 1
tap_log=$GLOCK_DIR/../log

"$example" "$extension" app.db 200 >/dev/null 2>"$tap_log" &
"$example" "$extension" app.db 200 >/dev/null 2>>"$tap_log" &
wait
[ "$("$example" "$extension" app.db 0 2>>"$tap_log")" = "n is 400" ]
result $? "C: two processes count 200 steps each"
"$example" "$extension.no" app.db 1 >"$tap_log" 2>&1
[ $? = 1 ] && grep -q '^sqlite: .*libglock_sqlite.so.no' "$tap_log"
result $? "C: the message names an extension that is not there"
if python3 -c 'import sqlite3; sqlite3.connect(":memory:").enable_load_extension' 2>/dev/null; then
	"$example" "$extension" app.db 100 >"$tap_log" 2>&1 &
	python3 "$python" "$extension" app.db 100 >>"$tap_log" 2>&1
	wait
	[ "$(python3 "$python" "$extension" app.db 0 2>>"$tap_log")" = "n is 600" ]
	result $? "Python beside C: each counts 100 steps"
fi
if [ "$glock" != - ]; then
	before=$("$example" "$extension" app.db 0)
	"$example" "$extension" app.db 100 >"$tap_log" 2>&1 &
	"$glock" sqlite python3 "$python" - app.db 100 >>"$tap_log" 2>&1
	wait
	after=$("$example" "$extension" app.db 0)
	[ "${after#n is }" = $((${before#n is } + 200)) ]
	result $? "Python by glock sqlite, without the extension"
fi
plan
