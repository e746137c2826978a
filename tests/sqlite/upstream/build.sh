#!/bin/sh
# build.sh - builds SQLite's own test programs from Debian's source package, with the VFS linked in.
#
# Usage: build.sh SOURCE BUILD DIR [all]. BUILD has the library. DIR takes packages, sources and programs.
# With `all`: mptester and threadtest3, too.
# The package manager of the machine stays as it is: the list of sources is one of DIR's own.
set -eu
source=$1
build=$(realpath "$2")
all=${4-}
mkdir -p "$3"
cd "$3"
dir=$PWD

if [ ! -e unpacked ]; then
	mkdir -p apt/lists/partial apt/cache/archives/partial
	# the list of differences belongs to this release's version of SQLite
	echo "deb-src http://deb.debian.org/debian bookworm main" >sources.list
	set -- -o "Dir::Etc::sourcelist=$dir/sources.list" -o Dir::Etc::sourceparts=- \
		-o "Dir::State::lists=$dir/apt/lists" -o "Dir::Cache=$dir/apt/cache" -o APT::Sandbox::User=root \
		-o Acquire::Retries=3
	apt-get "$@" update >apt.log 2>&1 && apt-get "$@" source --download-only sqlite3 >>apt.log 2>&1 || {
		cat apt.log >&2
		exit 1
	}
	rm -rf tree
	mkdir tree
	tar -xf sqlite3_*.orig.tar.xz -C tree --strip-components=1
	touch unpacked
fi

mkdir -p bld
cd bld
[ -e Makefile ] || ../tree/configure --disable-shared --enable-all CFLAGS=-O1 >conf.log 2>&1 || {
	cat conf.log >&2
	exit 1
}
parts=
for file in "$source"/src/sqlite/*.c "$source/tests/sqlite/upstream/init.c"; do
	case $file in */extension.c | */preload.c | */pace.c) continue ;; esac
	part=$dir/bld/glock_$(basename "$file" .c).o
	gcc -std=c17 -O1 -g -DSQLITE_CORE -D_GNU_SOURCE -I"$source/include" -I"$source/src" -I"$source/src/sqlite" -Itree -I"$dir/bld" \
		-c "$file" -o "$part"
	parts="$parts $part"
done
libs="$parts $build/src/glock/libglock.a -lpthread -lm -ldl -lz"
rm -f testfixture mptester threadtest3
make sqlite3.c tsrc >make.log 2>&1 && make testfixture "OPTS=-DSQLITE_EXTRA_INIT=glock_test_init" \
	"TLIBS=$libs -ltcl8.6" >>make.log 2>&1 || {
	tail -40 make.log >&2
	exit 1
}
[ "$all" = all ] || exit 0
gcc -O1 -w -DSQLITE_THREADSAFE=1 -DSQLITE_EXTRA_INIT=glock_test_init -c sqlite3.c -o sqlite3_for_tests.o
# shellcheck disable=SC2086
gcc -O1 -w -I. ../tree/mptest/mptest.c sqlite3_for_tests.o $libs -o mptester
# shellcheck disable=SC2086
gcc -O1 -w -I. -I../tree/src -I../tree/test ../tree/test/threadtest3.c ../tree/src/test_multiplex.c sqlite3_for_tests.o \
	$libs -o threadtest3
