#!/bin/sh
# publish.sh - measures how fast glock(1) reads a process, and the cost to the process.
#
# Usage: publish.sh BUILD_DIR. The process has 1,000,000 glocks, in its own folder in memory (about
# 300 MB, removed at the end). A missed limit is printed clearly but is no error.
# GLOCK_BENCH_GLOCKS=N measures with fewer.
set -eu
build=$(cd "${1:?usage: publish.sh BUILD_DIR}" && pwd)
glocks=${GLOCK_BENCH_GLOCKS:-1000000}
ninja -C "$build" glock bench/bench_publish >/dev/null
GLOCK_DIR=$(mktemp -d /dev/shm/glock-bench-XXXXXX)
export GLOCK_DIR
trap 'rm -rf "$GLOCK_DIR"' EXIT
trap 'exit 130' INT TERM HUP
"$build/bench/bench_publish" "$glocks" "$build/glock" | awk -v n="$glocks" '
	{ v[$1] = $2 }
	function row(what, value, limit, ok) {
		printf "%-62s %12s  %-10s %s\n", what, value, limit, limit == "" ? "" : ok ? "met" : "MISSED"
	}
	END {
		row("glock stat of " n " glocks (" int(v["text_bytes"] / 1e6) " MB)", v["stat_glocks_s"] " s", "2 s", v["stat_glocks_s"] <= 2)
		row("... glstats", v["stat_glstats_s"] " s", "2 s", v["stat_glstats_s"] <= 2)
		row("the process itself, glock_dump() of the same", v["own_dump_s"] " s", "", 1)
		row("a cached pair of the process, CPU time, nobody looks", v["once_alone_ns"] " ns", "", 1)
		row("... another reads all of it once in each second or so", v["once_read_ns"] " ns", "", 1)
		row("... median of the ratios", v["once_ratio"], "1.01", v["once_ratio"] <= 1.01)
		row("... another reads all of it without a pause: median of the ratios", v["always_ratio"], "", 1)
	}'
