#!/bin/sh
# test_root.sh - installs the .debs into a fresh root of Debian, uses them, and purges them. TAP.
#
# Afterwards it does so once more as an upgrade of an older version, which a process uses meanwhile.
#
# Usage: test_root.sh DEBS. DEBS is the folder of package.sh with the .debs. Needs root.
set -u
. "$(dirname "$0")/../tap.sh"
debs=$(cd "$1" && pwd)
source=$(cd "$(dirname "$0")/../.." && pwd)
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
tap_log=$tmp/log
root=$tmp/root

suite=$(. /etc/os-release && echo "$VERSION_CODENAME")
mirror=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' | grep -m 1 '/debian$')
# the packages that the tests of debian/tests name, and no more
mmdebstrap --quiet --variant=apt --include=gcc,libc6-dev,pkg-config,xz-utils,sqlite3 --skip=cleanup/apt/lists "$suite" "$root" \
	"$mirror" >"$tap_log" 2>&1
result $? "a fresh root of $suite"
mkdir "$root/debs"
cp "$debs"/*.deb "$root/debs"
! ls "$root"/debs/*-dbgsym_* >"$tap_log" 2>&1
result $? "the folder has no debug packages, which apt-get install would take"

# Runs a command in the root. Like a machine, the root has /proc, which goes with the command.
in_root() {
	# shellcheck disable=SC2016
	unshare -m sh -c 'mount --bind /proc "$0/proc" && exec chroot "$0" "$@"' "$root" \
		env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@" \
		>"$tap_log" 2>&1
}

# The files that packages and their scripts leave. apt's own lists, logs and caches are no such files.
files() {
	(cd "$root" && find . -xdev \( -path ./debs -o -path ./older -o -path ./source -o -path ./proc -o -path ./var/cache -o \
		-path ./var/log -o -path ./var/lib/apt -o -path ./var/lib/dpkg -o -path ./etc/ld.so.cache -o \
		-path ./tmp -o -path ./usr/share/info \) -prune -o -print | sort)
}
packages() {
	chroot "$root" dpkg-query -W -f '${Package}\n'
}

# purge: removes all packages that came since the beginning, and compares the files.
purge() {
	packages >"$tmp/packages.after"
	# shellcheck disable=SC2046
	in_root apt-get purge -y --allow-remove-essential $(comm -13 "$tmp/packages.before" "$tmp/packages.after")
	result $? "apt-get purges $1"
	rm -rf "$root"/tmp/*
	files >"$tmp/after"
	diff "$tmp/before" "$tmp/after" >"$tap_log"
	result $? "and nothing is left"
}
mkdir -p "$root/dev/shm"
packages >"$tmp/packages.before"
files >"$tmp/before"

# Before the installation a user makes the directory of root's spaces. postinst replaces it, and keeps root's own.
# /dev/shm of the root is a folder of the root's file system, which goes with the root.
mkdir "$root/dev/shm/glock-0" && touch "$root/dev/shm/glock-0/shop" && chown -R 1:1 "$root/dev/shm/glock-0"
in_root sh -c 'apt-get install -y --no-install-recommends /debs/*.deb'
result $? "apt-get installs all packages"
[ "$(stat -c '%u %a %F' "$root/dev/shm/glock-0")" = '0 700 directory' ] && [ ! -e "$root/dev/shm/glock-0/shop" ]
result $? "and nothing is left of the directory that a user made for root's spaces"
touch "$root/dev/shm/glock-0/kept"
in_root sh -c 'sh /var/lib/dpkg/info/libglock1*.postinst configure && [ -e /dev/shm/glock-0/kept ]'
result $? "and a directory of root stays"
rm -rf "$root/dev/shm/glock-0"
if command -v systemd-tmpfiles >/dev/null; then
	mkdir "$root/dev/shm/glock-0" && chown 1 "$root/dev/shm/glock-0"
	systemd-tmpfiles --root="$root" --create "$root"/usr/lib/tmpfiles.d/libglock1.conf >"$tap_log" 2>&1
	[ "$(stat -c %u "$root/dev/shm/glock-0")" = 1 ]
	result $? "and the line of tmpfiles.d adopts no directory of a user"
	rm -rf "$root/dev/shm/glock-0"
fi
mkdir "$root/source"
(cd "$source" && cp -a --parents debian/tests examples/tutorial examples/simulate.c tests/data/gfs2-hang.tar.xz tests/data/gfs2-hang.names \
	"$root/source")
for test in $(sed -n 's/^Tests: //p' "$source/debian/tests/control"); do
	mkdir "$root/tmp/$test"
	in_root sh -c "cd /source && AUTOPKGTEST_TMP=/tmp/$test debian/tests/$test"
	result $? "debian/tests/$test"
done
in_root sh -c 'o2top --version && glock version && ldd /usr/bin/glock && dpkg -V libglock1 libglock-dev glock-tools o2top'
result $? "the programs start, and no file differs from its package"
# the definitions for services and monitoring run the program of the package
in_root sh -c '[ "$(grep -rhoE "/[a-z/]*bin/o2top" /usr/share/doc/o2top/examples | sort -u)" = "$(command -v o2top)" ]'
result $? "examples name the place of o2top"
purge "them"

# program NAME BODY: makes a package of a program with this body of main(), for today's library. The package
# depends on what dpkg-shlibdeps reads in today's libglock1.
program() {
	build=$tmp/$1
	mkdir -p "$build/debian" "$build/tree/DEBIAN" "$build/tree/usr/bin" "$tmp/built/debian"
	for package in libglock1 libglock-dev; do
		[ -d "$tmp/built/debian/$package" ] || dpkg-deb -R "$debs/${package}"_*.deb "$tmp/built/debian/$package"
	done
	lib=$(dirname "$tmp"/built/debian/libglock1/usr/lib/*/libglock.so.1)
	echo "#include <glock.h>
int main(void) { $2; }" >"$build/$1.c"
	printf 'Source: %s\n\nPackage: %s\nArchitecture: any\n' "$1" "$1" >"$build/debian/control"
	gcc "$build/$1.c" -I "$tmp/built/debian/libglock-dev/usr/include" "$lib/libglock.so.1" -o "$build/tree/usr/bin/$1" &&
		(cd "$build" && dpkg-shlibdeps -S"$tmp/built/debian/libglock1" -Tvars "tree/usr/bin/$1") || return 1
	printf 'Package: %s\nVersion: 1\nArchitecture: %s\nMaintainer: The glock authors <authors@glock.invalid>\n' "$1" \
		"$(dpkg --print-architecture)" >"$build/tree/DEBIAN/control"
	sed -n 's/^shlibs:Depends=/Depends: /p' "$build/vars" >>"$build/tree/DEBIAN/control"
	echo 'Description: a program for a test' >>"$build/tree/DEBIAN/control"
	dpkg-deb --root-owner-group -b "$build/tree" "$root/older/$1.deb"
}

# An upgrade from the oldest version that counts. A process of this version has a lock meanwhile.
set -- $(grep -m 1 -v '^#' "$source/tests/upgrade/versions")
name=$1
commit=$2
if git -C "$source" cat-file -e "$commit^{commit}" 2>/dev/null; then
	"$source/tests/packages/older.sh" "$commit" "$name-0glock1" "$debs" "$root/older" >"$tap_log" 2>&1
	result $? "packages of $name"
	in_root sh -c 'apt-get install -y --no-install-recommends /older/*.deb && [ -x /usr/sbin/o2top ]'
	result $? "apt-get installs those of $name"
	program first 'return glock_version() == 0' >"$tap_log" 2>&1
	result $? "a package of a program for today's library"
	in_root sh -c '! dpkg -i /older/first.deb && dpkg -s first | grep -q "^Status: .*unpacked" && dpkg -r first'
	result $? "a program for today's library asks for another package than that of $name"
	mkfifo "$tmp/stop"
	(tap_log=$tmp/holder && in_root glock run backup nightly -- cat) <"$tmp/stop" &
	exec 3>"$tmp/stop"
	sleep 1
	in_root sh -c 'apt-get install -y --no-install-recommends /debs/*.deb &&
		dpkg -V libglock1 libglock-dev glock-tools o2top && [ ! -e /usr/sbin/o2top ] && [ ! -e /usr/share/man/man8/o2top.8.gz ]'
	result $? "apt-get upgrades them, and no file of $name is left"
	in_root sh -c 'message=$(glock run backup nightly -- true 2>&1); echo "$message"
		pid=$(echo "$message" | sed -n "s/.*another version of glock made it.*end process \([0-9]*\) (glock).*/\1/p")
		[ "$(cat "/proc/$pid/comm")" = glock ]'
	result $? "glock names the process of $name that must end"
	in_root sh -c 'dpkg -i /older/first.deb && first && dpkg -r first && dpkg -V libglock0'
	result $? "the program runs now, and the library of $name is still there for its programs"
	exec 3>&-
	wait
	in_root sh -c "glock run backup nightly -- true && glock rm backup"
	result $? "and gets the lock then"
	purge "the upgraded ones"
else
	# a shallow clone cannot build them
	echo "# no upgrade from $name: the history lacks commit $commit"
fi
plan
