#!/bin/sh
# bench_glock.sh - runs bench_glock and prints its table.
#
# Usage: bench_glock.sh BUILD_DIR. bench_glock.c describes the figures: libglock beside the locks of
# libc, and memory a glock.
set -eu

build=${1:?usage: bench_glock.sh BUILD_DIR}
ninja -C "$build" bench/bench_glock bench/bench_glock_shared >&2
out=$build/bench_glock.tsv
dir=$(mktemp -d /dev/shm/glock-bench-XXXXXX)
trap 'rm -rf "$dir"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

"$build/bench/bench_glock" pair >"$out"
"$build/bench/bench_glock" shared >>"$out"
"$build/bench/bench_glock" revoke >>"$out"
"$build/bench/bench_glock" lookups >>"$out"
for what in pair shared; do "$build/bench/bench_glock_shared" $what; done | sed 's/^/libglock.so: /' >>"$out"
"$build/bench/bench_glock" many 10000000 >>"$out"
# In an existing space, the opening would have looked through the table's memory.
GLOCK_DIR=$dir "$build/bench/bench_glock" many 1000000 local | sed '/look-up/d' >>"$out"
echo "$(date +%F), Linux $(uname -r), $(nproc) CPUs, load: $(cut -d' ' -f1-3 /proc/loadavg)"
# A record of a resource and a lock in the lock table takes 128 bytes more: table_impl.h.
awk -F'\t' '
BEGIN { printf "%-50s %12s %12s %8s %8s\n", "", "glock", "peer", "ratio", "limit" }
{
	limit = $1 ~ /^pair SH, peer: mutex/ ? 0.28 : $1 ~ /^pair EX, peer: mutex/ ? 0.32 : \
		$1 ~ /^libglock.so: pair SH, peer: mutex/ ? 0.33 : $1 ~ /^libglock.so: pair EX, peer: mutex/ ? 0.35 : \
		$1 ~ /^pair (movable|owner).*mutex/ ? 1 : $1 ~ /8 glocks/ ? 1.1 : $1 ~ /8 threads SH/ ? 0.1 : \
		$1 ~ /^get.put,/ ? 1.5 : $1 ~ /^look-up/ ? 4 : \
		$1 ~ /^memory.*local/ ? 320 : $1 ~ /^memory/ ? 320 - 128 : ""
	value = $1 ~ /^memory/ ? $2 : $5
	printf "%-50s %12s %12s %8s %8s  %s\n", $1, $2 " " $3, $4 == "-" ? "-" : $4 " " $3, $5, limit == "" ? "-" : limit, \
		limit == "" ? "" : value <= limit ? "met" : "MISSED"
	missed += limit != "" && value > limit
}
END { if (missed) printf "\n*** %d LIMIT%s MISSED ***\n", missed, (missed > 1 ? "S" : "") }' "$out"
