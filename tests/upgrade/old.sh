#!/bin/sh
# old.sh - builds the library of an older version from its commit.
#
# Usage: old.sh COMMIT DIR. DIR gets glock.h and libglock.so.0, or libglock.so with a later number. A DIR that has both stays as it is.
set -eu
commit=$1
dir=$2
for found in "$dir"/libglock.so.?; do
	[ ! -e "$found" ] || exit 0
done
source=$(cd "$(dirname "$0")/../.." && pwd)
tmp=$dir.tmp$$
trap 'rm -rf "$tmp"' EXIT
mkdir -p "$tmp"
unset CFLAGS LDFLAGS DESTDIR
git -C "$source" archive "$commit" | tar -xf - -C "$tmp"
CC=gcc meson setup "$tmp/build" "$tmp" --buildtype=debug -Doptimization=0 -Dtests=false
library=$(ninja -C "$tmp/build" -t targets all | sed -n 's/^\(src\/glock\/libglock\.so\.[0-9]*\.[0-9.]*\): .*/\1/p')
ninja -C "$tmp/build" "$library"
mkdir -p "$dir"
cp "$tmp/include/glock.h" "$dir"
# the name comes last, because it says that all is there
cp "$tmp/build/$library" "$dir/new"
mv "$dir/new" "$dir/$(basename "$library")"
soname=$(readelf -d "$dir/$(basename "$library")" | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p')
ln -s "$(basename "$library")" "$dir/$soname"
