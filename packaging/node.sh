#!/bin/sh
# node.sh - builds the file of the Node package for npm, with addons inside, from the last commit.
#
# Usage: node.sh DIR. The file is DIR/glock-VERSION.tgz. A root of Debian 11 builds the addons: for glibc 2.31 on x64 and, by a
# cross compiler, on arm64, and for musl on x64. The headers of Node.js are those of this machine. Needs root.
set -eu
cd "$(dirname "$0")/.."
rm -rf "$1"
mkdir -p "$1"
out=$(cd "$1" && pwd)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
trap 'exit 130' INT TERM HUP
. packaging/old_root.sh

old_root gcc-aarch64-linux-gnu,libc6-dev-arm64-cross,musl-tools
headers=/usr/include/node
mkdir -p "$tmp/root$headers"
for at in /usr/include/uv.h /usr/include/uv $headers/.; do # Debian has uv.h apart
	[ ! -e $at ] || cp -r $at "$tmp/root$headers"
done
cat >"$tmp/root/glock/arm64.txt" <<'TEXT'
[binaries]
c = 'aarch64-linux-gnu-gcc'
ar = 'aarch64-linux-gnu-gcc-ar'
strip = 'aarch64-linux-gnu-strip'
[host_machine]
system = 'linux'
cpu_family = 'aarch64'
cpu = 'aarch64'
endian = 'little'
TEXT
# musl-gcc knows no headers of the kernel.
in_root '
	build() { # NAME OPTION...
		name=$1
		shift
		meson setup $name --libdir=lib --buildtype=release -Db_lto=true -Dtests=false -Dtools=disabled -Do2top=disabled \
			-Dsqlite=disabled -Detcd=disabled -Dman=disabled -Dpython=disabled -Dprobes=disabled -Dnode=enabled "$@"
		ninja -C $name bindings/node/package.stamp
		cp -r $name/bindings/node/node_modules/glock/. package
	}
	mkdir package
	build glibc
	build arm64 --cross-file arm64.txt
	mkdir kernel
	ln -s /usr/include/linux /usr/include/asm-generic /usr/include/x86_64-linux-gnu/asm kernel
	CC=musl-gcc CFLAGS="-isystem /glock/kernel" build musl
	strip package/prebuilds/linux-x64/*
	aarch64-linux-gnu-strip package/prebuilds/linux-arm64/*
	cp LICENSE package'
version=$(sed -n 's/.*"version": "\(.*\)".*/\1/p' bindings/node/package.json)
tar --sort=name --owner=0 --group=0 --mtime="@$(git log -1 --format=%ct)" -C "$tmp/root/glock" -czf "$out/glock-$version.tgz" package
tar -tvf "$out/glock-$version.tgz"
