#!/bin/sh
# reproducible.sh - builds the .debs of the committed tree twice, and compares them byte by byte. TAP.
#
# Usage: reproducible.sh DIR. The builds differ in path, umask, time zone, language and number of jobs.
# A difference shows as the members of the .deb that differ.
set -u
cd "$(dirname "$0")/.."
. tests/tap.sh
mkdir -p "$1"
out=$(cd "$1" && pwd)
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
tap_log=$tmp/log
rm -rf "$out/first" "$out/second"

# build DIR ZONE LANGUAGE UMASK JOBS
build() (
	umask "$4"
	mkdir -p "$1"
	git archive --prefix=glock/ "$commit" | tar -xf - -C "$1" || exit 1
	cd "$1/glock" || exit 1
	# each file is compiled, because a cache of the compiler has results of another folder
	env TZ="$2" LC_ALL="$3" CCACHE_DISABLE=1 SOURCE_DATE_EPOCH="$epoch" DEB_BUILD_OPTIONS="parallel=$5" \
		dpkg-buildpackage -us -uc -b >../log 2>&1
)
commit=$(git rev-parse HEAD)
epoch=$(git log -1 --format=%ct "$commit")

build "$out/first" UTC C 022 "$(nproc)" 2>"$tap_log"
result $? "the first build"
build "$out/second/of-both" Asia/Kathmandu C.UTF-8 077 3 2>"$tap_log"
result $? "the second build"

# members DEB DIR: unpacks the .deb, with a listing of its files.
members() {
	mkdir -p "$2/data" "$2/control"
	ar x --output "$2" "$1" && tar -tvf "$2"/data.tar.* >"$2/list" && tar -tvf "$2"/control.tar.* >>"$2/list" &&
		tar -xf "$2"/data.tar.* -C "$2/data" && tar -xf "$2"/control.tar.* -C "$2/control"
}

for deb in "$out"/first/*.deb; do
	name=$(basename "$deb")
	rm -rf "$tmp/a" "$tmp/b"
	: >"$tap_log"
	cmp -s "$deb" "$out/second/of-both/$name" && {
		result 0 "$name"
		continue
	}
	members "$deb" "$tmp/a"
	members "$out/second/of-both/$name" "$tmp/b"
	(cd "$tmp" && diff -r a b) >"$tap_log" 2>&1
	result 1 "$name"
done
plan
