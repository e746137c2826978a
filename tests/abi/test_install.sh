#!/bin/sh
# test_install.sh - tests the installed library: pkg-config finds it, and programs compile and run.
# TAP.
set -u
. "$(dirname "$0")/../tap.sh"
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
tap_log=$tmp/log

meson install -C "$BUILD" --no-rebuild --tags devel,runtime --destdir "$tmp/root" >"$tmp/log" 2>&1
result $? "installs"
pc=$(find "$tmp/root" -name glock.pc)
PKG_CONFIG_LIBDIR=$(dirname "$pc")
PKG_CONFIG_SYSROOT_DIR=$tmp/root
export PKG_CONFIG_LIBDIR PKG_CONFIG_SYSROOT_DIR
lib=$(dirname "$PKG_CONFIG_LIBDIR")
example=$SOURCE/examples/counter.c

nm -g --defined-only "$lib/libglock.a" | awk 'NF == 3 && $3 !~ /^(glock_|_\.stapsdt|DW\.ref\.__gcc_personality)/ { print $3 }' >"$tmp/log"
[ ! -s "$tmp/log" ]
result $? "the static library has no names but glock's"
pkg-config --exists glock
result $? "pkg-config knows it"
# shellcheck disable=SC2046
$CC -std=c17 -D_GNU_SOURCE "$example" $(pkg-config --cflags --libs glock) -o "$tmp/shared" >"$tmp/log" 2>&1 &&
	LD_LIBRARY_PATH=$lib "$tmp/shared" "$tmp/number" 5 >"$tmp/log" 2>&1
result $? "a program with the shared library runs"
# shellcheck disable=SC2046
$CC -std=c17 -D_GNU_SOURCE "$example" $(pkg-config --cflags glock) "$lib/libglock.a" -pthread -ldl \
	-o "$tmp/static" >"$tmp/log" 2>&1 && "$tmp/static" "$tmp/number" 5 >"$tmp/log" 2>&1
result $? "a program with the static library runs"
[ "$(tr -d ' ' <"$tmp/number")" = 10 ]
result $? "and both count"
# shellcheck disable=SC2046
$CC -std=c17 -D_GNU_SOURCE "$SOURCE/examples/simulate.c" $(pkg-config --cflags --libs glock-sim) \
	-o "$tmp/simulate" >"$tmp/log" 2>&1 &&
	LD_LIBRARY_PATH=$lib "$tmp/simulate" right 10 >"$tmp/log" 2>&1
result $? "a program with the simulator runs"
plan
