#!/bin/sh
# test_root.sh - installs the .debs into a fresh root of Debian, uses them, and purges them. TAP.
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
mmdebstrap --quiet --variant=apt --include=gcc,libc6-dev,pkg-config,xz-utils --skip=cleanup/apt/lists "$suite" "$root" \
	"$mirror" >"$tap_log" 2>&1
result $? "a fresh root of $suite"
mkdir "$root/debs"
cp "$debs"/*.deb "$root/debs"
rm -f "$root"/debs/*-dbgsym_*

in_root() {
	chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root DEBIAN_FRONTEND=noninteractive "$@" \
		>"$tap_log" 2>&1
}

# The files that packages and their scripts leave. apt's own lists, logs and caches are no such files.
files() {
	(cd "$root" && find . -xdev \( -path ./debs -o -path ./source -o -path ./proc -o -path ./var/cache -o \
		-path ./var/log -o -path ./var/lib/apt -o -path ./var/lib/dpkg -o -path ./etc/ld.so.cache -o \
		-path ./tmp -o -path ./usr/share/info \) -prune -o -print | sort)
}
chroot "$root" dpkg-query -W -f '${Package}\n' >"$tmp/packages.before"
files >"$tmp/before"

in_root sh -c 'apt-get install -y --no-install-recommends /debs/*.deb'
result $? "apt-get installs all packages"
mkdir "$root/source"
(cd "$source" && cp -a --parents debian/tests examples/tutorial tests/data/gfs2-hang.tar.xz tests/data/gfs2-hang.names \
	"$root/source")
for test in tutorial run replay; do
	mkdir "$root/tmp/$test"
	in_root sh -c "cd /source && AUTOPKGTEST_TMP=/tmp/$test debian/tests/$test"
	result $? "debian/tests/$test"
done
in_root sh -c 'o2top --version && glock version && ldd /usr/bin/glock && dpkg -V libglock0 libglock-dev glock-tools o2top'
result $? "the programs start, and no file differs from its package"

# The same version again is what an upgrade does: the scripts of the old and of the new package run.
in_root sh -c 'apt-get install -y --reinstall --no-install-recommends /debs/*.deb && glock version'
result $? "an upgrade"

chroot "$root" dpkg-query -W -f '${Package}\n' >"$tmp/packages.after"
# shellcheck disable=SC2046
in_root apt-get purge -y --allow-remove-essential $(comm -13 "$tmp/packages.before" "$tmp/packages.after")
result $? "apt-get purges them"
rm -rf "$root"/tmp/tutorial "$root"/tmp/run "$root"/tmp/replay
files >"$tmp/after"
diff "$tmp/before" "$tmp/after" >"$tap_log"
result $? "and nothing is left"
plan
