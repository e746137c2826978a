#!/bin/sh
# test_subproject.sh - tests that a Meson project takes glock as a subproject, in a folder with a blank. TAP.
set -u
. "$(dirname "$0")/builds.sh"

parent="$tmp/a parent"
mkdir -p "$parent/subprojects/glock"
# without the build folders beside the sources
(cd "$SOURCE" && cp -r meson.build meson_options.txt bench bindings contrib docs examples include man src tests "$parent/subprojects/glock")
cp "$SOURCE/tests/builds/program.c" "$parent"
cat >"$parent/meson.build" <<'MESON'
project('parent', 'c')
executable('program', 'program.c', dependencies: dependency('glock', fallback: 'glock'))
MESON
PKG_CONFIG_LIBDIR=/nonexistent meson setup --wrap-mode=forcefallback "$parent/build" "$parent" >"$tap_log" 2>&1
result $? "dependency('glock') finds the subproject, and needs no option"
ninja -C "$parent/build" program >"$tap_log" 2>&1 && mkdir "$tmp/spaces" &&
	GLOCK_DIR=$tmp/spaces "$parent/build/program" >"$tap_log" 2>&1
result $? "and its program compiles and runs"
plan
