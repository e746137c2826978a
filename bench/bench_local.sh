#!/bin/sh
# bench_local.sh BUILD_DIR - locks among the processes of this machine, as ratios to peers measured in the same run.
#
# Prints a table and writes BUILD_DIR/bench_local.tsv, which chart.awk draws. See bench_local.c for what is measured.
set -eu

build=${1:?usage: bench_local.sh BUILD_DIR}
dir=$(mktemp -d /dev/shm/glock-bench-XXXXXX)
trap 'rm -rf "$dir"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

ninja --quiet -C "$build" bench/bench_local >&2
GLOCK_DIR=$dir GLOCK_LOCKMAN=local "$build/bench/bench_local" >"$build/bench_local.tsv"
echo "$(date +%F), Linux $(uname -r), $(nproc) CPUs, load: $(cut -d' ' -f1-3 /proc/loadavg)"
awk -F'\t' '
BEGIN {
	line = "%-58s %12s %11s %8s %8s  %s\n"
	printf line, "", "glock", "peer", "ratio", "limit", ""
}
{
	ratio = $4 == "-" ? "-" : sprintf("%.3f", $2 / $4)
	value = $4 == "-" ? $2 : $2 / $4
	verdict = $5 == "-" ? "" : value <= $5 ? "met" : "MISSED"
	missed += verdict == "MISSED"
	unit = $3 == "-" ? "" : " " $3
	printf line, $1, $2 unit, $4 == "-" ? "-" : $4 unit, ratio, $5, verdict
}
END {
	if (missed)
		printf "\n*** %d LIMIT%s MISSED ***\n", missed, missed > 1 ? "S" : ""
}' "$build/bench_local.tsv"
