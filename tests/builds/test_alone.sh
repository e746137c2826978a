#!/bin/sh
# test_alone.sh - tests that the library needs no other library than those of the compiler, and that each part can be left out. TAP.
set -u
. "$(dirname "$0")/builds.sh"

# Without pkg-config's files no library is found.
PKG_CONFIG_LIBDIR=/nonexistent CMAKE_PREFIX_PATH=/nonexistent configure none &&
	grep -q 'o2top is left out, because it needs jansson (Debian: libjansson-dev; RHEL: ' "$tap_log"
result $? "without other libraries the parts are left out, and the packages of three distributions are named"
! PKG_CONFIG_LIBDIR=/nonexistent configure tools -Dtools=enabled &&
	grep -q 'ERROR: .*tools needs jansson (Debian: libjansson-dev; RHEL: .*-Dtools=disabled' "$tap_log"
result $? "a part that must be there and cannot be is an error, with the way out"

configure alone --auto-features=disabled -Doptimization=1 && ninja -C "$tmp/alone" >"$tap_log" 2>&1
result $? "the library builds alone"
meson install -C "$tmp/alone" --no-rebuild --destdir "$tmp/root" >"$tap_log" 2>&1
(cd "$tmp/root" && find . -name 'libglock.so.1' -o -name glock.h -o -name glock.pc | wc -l) >"$tap_log"
[ "$(cat "$tap_log")" = 3 ]
result $? "and installs library, header and glock.pc"
(cd "$tmp/root" && find . -name 'o2top*' -o -path '*bin/glock' -o -path '*/man/*') >"$tap_log"
[ ! -s "$tap_log" ]
result $? "and nothing of the parts"
so=$(find "$tmp/root" -name libglock.so.1)
readelf -d "$so" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | grep -v '^\(libc\|libgcc_s\|ld-linux.*\)\.so\.[0-9]$' >"$tap_log"
[ ! -s "$tap_log" ]
result $? "it needs libc and the library of its compiler alone"
readelf -n "$so" >"$tap_log"
! grep -q stapsdt "$tap_log"
result $? "without probes"
plan
