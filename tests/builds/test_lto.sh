#!/bin/sh
# test_lto.sh - tests that all of the library links and runs with LTO and _FORTIFY_SOURCE, as
# distributions build it. TAP.
set -u
. "$(dirname "$0")/builds.sh"

configure lto -Db_lto=true -Doptimization=1 -Dc_args=-D_FORTIFY_SOURCE=2 -Do2top=disabled -Dman=disabled -Dsqlite=disabled \
	-Dpython=disabled -Dtools=enabled &&
	ninja -C "$tmp/lto" >"$tap_log" 2>&1
result $? "glock, the shared library and the examples link with LTO"
mkdir "$tmp/spaces"
GLOCK_DIR=$tmp/spaces "$tmp/lto/glock" run lto lock true >"$tap_log" 2>&1
result $? "glock takes a lock"
"$tmp/lto/examples/example_counter" "$tmp/number" 5 >"$tap_log" 2>&1 && [ "$(tr -d ' ' <"$tmp/number")" = 5 ]
result $? "a program with the shared library takes a lock"

"$tmp/lto/examples/example_simulate" right 3 >"$tap_log" 2>&1
result $? "the simulator changes stacks under _FORTIFY_SOURCE"

# With sys/sdt.h, each of the six probes has a counter of tracers.
readelf -n "$tmp/lto/src/glock/libglock.so.1" >"$tap_log"
counted=$(grep -o 'Semaphore: 0x[0-9a-f]*[1-9a-f][0-9a-f]*' "$tap_log" | sort -u | wc -l)
[ "$counted" = 6 ] || { [ "$counted" = 0 ] && ! grep -q stapsdt "$tap_log"; }
result $? "each probe has its own counter of tracers"
plan
