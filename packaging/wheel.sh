#!/bin/sh
# wheel.sh - builds a wheel of the Python module, with libglock inside, from the last commit.
#
# Usage: wheel.sh DIR. The wheel and the report of auditwheel are in DIR. A root of Debian 11 builds the wheel, so that any
# system with glibc 2.31 runs it. Meson and setuptools come from Debian 12 and auditwheel from sid, unpacked. Needs root.
set -eu
cd "$(dirname "$0")/.."
rm -rf "$1"
mkdir -p "$1"
out=$(cd "$1" && pwd)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
trap 'exit 130' INT TERM HUP
mirror=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' | grep -m 1 '/debian$')

# fetch SUITE PACKAGE: unpacks a package of another suite into $tmp/SUITE
fetch() {
	package=$2
	mkdir -p "$tmp/$1" "$tmp/apt/lists/partial" "$tmp/apt/archives/partial"
	echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $1 main" >"$tmp/apt/sources"
	cd "$tmp/$1"
	set -- -q -o "Dir::Etc::sourcelist=$tmp/apt/sources" -o Dir::Etc::sourceparts=/dev/null \
		-o "Dir::State::Lists=$tmp/apt/lists" -o "Dir::Cache=$tmp/apt" -o APT::Sandbox::User=root \
		-o 'Acquire::Check-Valid-Until=false'
	{ apt-get "$@" update && apt-get "$@" download "$package"; } >"$out/apt.log" 2>&1
	dpkg -x "$package"_*.deb .
	cd - >/dev/null
}

mmdebstrap --quiet --variant=minbase --include=gcc,libc6-dev,ninja-build,pkg-config,python3-dev,python3-distutils,python3-wheel \
	bullseye "$tmp/root" "$mirror"
for package in meson python3-setuptools python3-pkg-resources; do
	fetch bookworm $package
done
cp -r "$tmp/bookworm/usr" "$tmp/root/"
mkdir "$tmp/root/glock"
git archive HEAD | tar -xf - -C "$tmp/root/glock"
# shellcheck disable=SC2016
chroot "$tmp/root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 "SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)" sh -ec '
	cd /glock
	meson setup build --prefix=/usr --libdir=lib --buildtype=release -Db_lto=true -Dtests=false -Dtools=disabled \
		-Do2top=disabled -Dsqlite=disabled -Dman=disabled -Dpython=disabled -Dprobes=disabled
	ninja -C build install
	cd bindings/python
	SETUPTOOLS_USE_DISTUTILS=stdlib python3 setup.py bdist_wheel --py-limited-api cp39' >"$out/log" 2>&1 || {
	tail -n 40 "$out/log" >&2
	exit 1
}
fetch sid python3-auditwheel
cp "$tmp"/root/usr/lib/libglock.so.* "$tmp"
# auditwheel looks for the library as the linker of the root does
LD_LIBRARY_PATH=$tmp PYTHONPATH=$tmp/sid/usr/lib/python3/dist-packages /usr/bin/python3 -m auditwheel repair \
	--plat "manylinux_2_31_$(uname -m)" -w "$out" "$tmp"/root/glock/bindings/python/dist/*.whl >"$out/auditwheel" 2>&1 || {
	cat "$out/auditwheel" >&2
	exit 1
}
PYTHONPATH=$tmp/sid/usr/lib/python3/dist-packages /usr/bin/python3 -m auditwheel show "$out"/*.whl | tee -a "$out/auditwheel"
