#!/bin/sh
# test_multiarch.sh - packages of two architectures that are "Multi-Arch: same" install side by side. TAP.
#
# Usage: test_multiarch.sh DEBS. DEBS has the .debs of amd64, as package.sh makes them. Cross-builds those
# of arm64 from the same commit in a fresh root of Debian, and installs both there. dpkg refuses files that
# differ. Needs root.
set -u
. "$(dirname "$0")/../tap.sh"
debs=$(cd "$1" && pwd)
source=$(cd "$(dirname "$0")/../.." && pwd)
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
tap_log=$tmp/log
root=${MULTIARCH_ROOT-$tmp/root} # by hand: a root of an earlier run

in_root() {
	# shellcheck disable=SC2016
	unshare -m sh -c 'mount --bind /proc "$0/proc" && mount --bind /dev "$0/dev" && exec chroot "$0" "$@"' "$root" \
		env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@" \
		>"$tap_log" 2>&1
}

suite=$(. /etc/os-release && echo "$VERSION_CODENAME")
mirror=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' | grep -m 1 '/debian$')
tools=g++-aarch64-linux-gnu,dpkg-dev,debhelper,dh-python,meson,ninja-build,pkg-config,scdoc,python3,xz-utils
libraries=pkgconf:arm64,systemtap-sdt-dev:arm64,libc6-dev:arm64,libjansson-dev:arm64,libncurses-dev:arm64,libarchive-dev:arm64,libzstd-dev:arm64,libcap-ng-dev:arm64,libsqlite3-dev:arm64,libcurl4-openssl-dev:arm64
[ -d "$root" ] || mmdebstrap --quiet --variant=apt --architectures=amd64,arm64 --include="$tools,$libraries" \
	--skip=cleanup/apt/lists "$suite" "$root" "$mirror" >"$tap_log" 2>&1
result $? "a fresh root of $suite with the architectures amd64 and arm64"

rm -rf "$root/build" && mkdir "$root/build"
# main may have moved on since the .debs of amd64 were made
commit=$(cat "$debs/commit")
git -C "$source" archive --prefix=glock/ "$commit" | tar -xf - -C "$root/build"
in_root sh -c 'cd /build/glock && SOURCE_DATE_EPOCH='"$(git -C "$source" log -1 --format=%ct "$commit")"' \
	DEB_BUILD_OPTIONS="nocheck parallel=$(nproc)" dpkg-buildpackage -aarm64 -Pcross,nocheck -d -us -uc -b >../log 2>&1 || { tail -n 40 ../log; exit 1; }'
result $? "the .debs of arm64, cross-built"

same=$(sed -n '/^Package: /{s///;h}; /^Multi-Arch: same/{x;p}' "$source/debian/control")
for package in $same; do
	cp "$debs/${package}"_*_amd64.deb "$root/build"
done
# shellcheck disable=SC2086
in_root sh -c 'cd /build && for package; do set -- "$@" ./${package}_*_amd64.deb ./${package}_*_arm64.deb; shift; done &&
	apt-get install -y --no-install-recommends "$@"' sh $same
result $? "apt-get installs both: $(echo $same)"
for package in $same; do
	# shellcheck disable=SC2016
	in_root sh -c '[ "$(dpkg-query -W -f "\${db:Status-Status} " "$0:amd64" "$0:arm64")" = "installed installed " ] &&
		dpkg -V "$0:amd64" "$0:arm64"' "$package"
	result $? "$package is installed for both, and no file differs from either"
done
in_root sh -c 'cd /tmp && aarch64-linux-gnu-gcc /build/glock/examples/tutorial/cached_file.c \
	$(PKG_CONFIG_LIBDIR=/usr/lib/aarch64-linux-gnu/pkgconfig pkg-config --cflags --libs glock) -o cached_file &&
	aarch64-linux-gnu-readelf -d cached_file | grep libglock.so.1'
result $? "the tutorial's program compiles for arm64"
plan
