#!/bin/sh
# sqlite.sh - tests the VFS with musl, in programs that have SQLite built with musl-gcc.
#
# Usage: sqlite.sh SOURCE BUILD SQLITE. BUILD was made with musl, and SQLITE is a folder with sqlite3.c. Prints a line
# for each program, and last "N passed, N failed".
set -eu
source=$1
build=$(realpath "$2")
root=$build-root
sqlite=$(realpath "$3")
mkdir -p "$build/sqlite"
cd "$build/sqlite"
passed=0
failed=0
LD_LIBRARY_PATH=$PWD:$build/src/glock
export LD_LIBRARY_PATH

[ libsqlite3.so -nt "$sqlite/sqlite3.c" ] ||
	musl-gcc -O1 -w -shared -fPIC -DSQLITE_THREADSAFE=1 -DHAVE_USLEEP=1 "$sqlite/sqlite3.c" -o libsqlite3.so
for name in bad change process interop document turns restore degrade fault places bank; do
	set -- "$source/tests/sqlite/test_$name.c" "$source/tests/sqlite/rig.c"
	case $name in
	fault | places) set -- -rdynamic "$@" "$source/tests/sqlite/faults.c" ;;
	bank) set -- "$source/tests/sqlite/bank.c" ;;
	esac
	musl-gcc -std=c17 -O1 -g -w -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -isystem "$root/include" -I"$source/tests/sqlite" \
		-I"$source/src" -I"$source/include" "$@" -o "$name" -L. -lsqlite3 "$root/lib/libcmocka.a"
	set --
	[ $name != bank ] || set -- 8 20
	if sh "$source/tests/sqlite/in_folder.sh" "$PWD/$name" "$build/src/sqlite/libglock_sqlite.so" "$@" >"$name.log" 2>&1; then
		echo "ok - musl: $name"
		passed=$((passed + 1))
	else
		grep '^not ok' "$name.log" | sed 's/^/# /'
		echo "not ok - musl: $name"
		failed=$((failed + 1))
	fi
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
