#!/bin/sh
# bench_local.sh - measures locks among the processes of this machine, as ratios to peers.
#
# Usage: bench_local.sh BUILD_DIR. The peers run in the same run. The script prints a table and
# writes BUILD_DIR/bench_local.tsv, which chart.awk draws. bench_local.c describes the figures.
set -eu

build=${1:?usage: bench_local.sh BUILD_DIR}
dir=$(mktemp -d /dev/shm/glock-bench-XXXXXX)
trap 'rm -rf "$dir"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

ninja -C "$build" bench/bench_local >&2
GLOCK_DIR=$dir GLOCK_LOCKMAN=local "$build/bench/bench_local" >"$build/bench_local.tsv"
echo "$(date +%F), Linux $(uname -r), $(nproc) CPUs, load: $(cut -d' ' -f1-3 /proc/loadavg)"
awk -f bench/table.awk "$build/bench_local.tsv"
