#!/bin/sh
# older.sh - makes .debs of an older version from its commit, for the test of an upgrade.
#
# Usage: older.sh COMMIT VERSION DEBS DIR. DEBS has the .debs of today. DIR gets the older ones, with the control
# files of today's, VERSION and the files of COMMIT. Not optimized, because that is quicker.
set -eu
commit=$1
older=$2
debs=$(cd "$3" && pwd)
mkdir -p "$4"
out=$(cd "$4" && pwd)
source=$(cd "$(dirname "$0")/../.." && pwd)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
triplet=$(dpkg-architecture -qDEB_HOST_MULTIARCH)
unset CFLAGS LDFLAGS

mkdir "$tmp/source"
git -C "$source" archive "$commit" | tar -xf - -C "$tmp/source"
meson setup "$tmp/build" "$tmp/source" --buildtype=debug -Doptimization=0 -Dtests=false --prefix=/usr \
	--libdir="lib/$triplet"
ninja -C "$tmp/build"
DESTDIR=$tmp/all meson install -C "$tmp/build" --no-rebuild

# package NAME TODAY FILE...: a .deb of these files, with the control files of today's package TODAY.
package() {
	name=$1
	today=$2
	shift 2
	for new in "$debs/${today}"_*.deb; do
		dpkg-deb -R "$new" "$tmp/$name"
	done
	version=$(dpkg-deb -f "$new" Version)
	find "$tmp/$name" -mindepth 1 -maxdepth 1 ! -name DEBIAN -exec rm -r {} +
	rm -f "$tmp/$name/DEBIAN/md5sums" "$tmp/$name/DEBIAN/symbols"
	# its programs need no function of a later version
	sed -i "s/$version/$older/g; s/libglock-sim1 (= [^)]*), //; s/libglock1 (>= [^)]*)/libglock0/; s/libglock1/libglock0/g" \
		"$tmp/$name/DEBIAN/control"
	for file in "$@"; do
		# shellcheck disable=SC2086
		(cd "$tmp/all" && find ./$file ! -type d -print0 | tar --null -T - -cf -) | tar -xf - -C "$tmp/$name"
	done
	dpkg-deb --root-owner-group -b "$tmp/$name" "$out"
}
package libglock0 libglock1 "usr/lib/*/libglock.so.0*"
package libglock-dev libglock-dev usr/include "usr/lib/*/*.a" "usr/lib/*/*.so" "usr/lib/*/pkgconfig"
package glock-tools glock-tools usr/bin/glock usr/share/man/man1
package o2top o2top "usr/*bin/o2top" "usr/share/man/man*/o2top*"
