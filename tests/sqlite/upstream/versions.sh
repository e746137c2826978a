#!/bin/sh
# versions.sh - builds and tests the VFS with the oldest and the newest SQLite.
#
# Usage: versions.sh SOURCE BUILD DIR. BUILD has the library and the tests. DIR takes packages and programs.
# RHEL 9 has SQLite 3.34.1, and so has Debian bullseye. Debian sid has the newest one. Both come as source
# packages, with a list of sources of DIR's own. Prints TAP lines, and last "N passed, N failed".
set -eu
source=$1
build=$(realpath "$2")
mkdir -p "$3"
cd "$3"
dir=$PWD
passed=0
failed=0

fetch() {
	mkdir -p "$dir/$1/apt/lists/partial" "$dir/$1/apt/cache/archives/partial" "$dir/$1/tree"
	cd "$dir/$1"
	echo "deb-src http://deb.debian.org/debian $1 main" >sources.list
	set -- -o "Dir::Etc::sourcelist=$PWD/sources.list" -o Dir::Etc::sourceparts=- \
		-o "Dir::State::lists=$PWD/apt/lists" -o "Dir::Cache=$PWD/apt/cache" -o APT::Sandbox::User=root \
		-o Acquire::Retries=3
	apt-get "$@" update >log 2>&1 && apt-get "$@" source --download-only sqlite3 >>log 2>&1
	tar -xf sqlite3_*.orig.tar.* -C tree --strip-components=1
	cd tree
	./configure >>../log 2>&1 && make sqlite3.c sqlite3.h >>../log 2>&1
	cp src/sqlite3ext.h ..
	cp sqlite3.c sqlite3.h ..
	touch ../unpacked
}

# build_vfs: both libraries, the VFS with the headers of that SQLite. Without HAVE_USLEEP 3.34 sleeps for whole seconds.
build_vfs() {
	gcc -O1 -w -shared -fPIC -DSQLITE_THREADSAFE=1 -DHAVE_USLEEP=1 -Wl,-soname,libsqlite3.so.0 sqlite3.c \
		-o libsqlite3.so.0 -lpthread -lm -ldl
	# shellcheck disable=SC2086
	gcc -std=c17 -O1 -g -Wall -Wextra -Werror -shared -fPIC -fvisibility=hidden -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 \
		-I. -I"$source/include" -I"$source/src" "$source"/src/sqlite/[b-o]*.c "$source"/src/sqlite/p[al]*.c \
		"$source"/src/sqlite/[q-z]*.c "$source"/src/base/append.c "$source"/src/base/clean.c "$source"/src/base/way.c \
		-o libglock_sqlite.so \
		-L"$build/src/glock" -lglock -lpthread
}

for release in bullseye sid; do
	[ -e "$dir/$release/unpacked" ] || fetch "$release" || {
		tail -20 "$dir/$release/log" >&2
		exit 1
	}
	cd "$dir/$release"
	version=$(sed -n 's/^#define SQLITE_VERSION  *"\(.*\)"/\1/p' sqlite3.h)
	build_vfs
	LD_LIBRARY_PATH=$PWD:$build/src/glock
	export LD_LIBRARY_PATH
	for name in bad change process interop document fault bank; do
		program=$build/tests/sqlite/test_sqlite_$name
		set --
		[ $name != bank ] || { program=$build/tests/sqlite/sqlite_bank; set -- 8 20; }
		if sh "$source/tests/sqlite/in_folder.sh" "$program" "$PWD/libglock_sqlite.so" "$@" >"$name.log" 2>&1; then
			echo "ok - SQLite $version: $name"
			passed=$((passed + 1))
		else
			grep -v '^ok' "$name.log" | grep -v 'statement aborts' | sed 's/^/# /' | tail -20
			echo "not ok - SQLite $version: $name"
			failed=$((failed + 1))
		fi
	done
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
