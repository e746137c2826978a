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
. packaging/old_root.sh

old_root python3-dev,python3-wheel
in_root '
	meson setup build --prefix=/usr --libdir=lib --buildtype=release -Db_lto=true -Dtests=false -Dtools=disabled \
		-Do2top=disabled -Dsqlite=disabled -Dman=disabled -Dpython=disabled -Dprobes=disabled
	ninja -C build install
	cd bindings/python
	SETUPTOOLS_USE_DISTUTILS=stdlib python3 setup.py bdist_wheel --py-limited-api cp39'
fetch sid python3-auditwheel
cp "$tmp"/root/usr/lib/libglock.so.* "$tmp"
# auditwheel looks for the library as the linker of the root does
LD_LIBRARY_PATH=$tmp PYTHONPATH=$tmp/sid/usr/lib/python3/dist-packages /usr/bin/python3 -m auditwheel repair \
	--plat "manylinux_2_31_$(uname -m)" -w "$out" "$tmp"/root/glock/bindings/python/dist/*.whl >"$out/auditwheel" 2>&1 || {
	cat "$out/auditwheel" >&2
	exit 1
}
PYTHONPATH=$tmp/sid/usr/lib/python3/dist-packages /usr/bin/python3 -m auditwheel show "$out"/*.whl | tee -a "$out/auditwheel"
