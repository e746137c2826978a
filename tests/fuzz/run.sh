#!/bin/sh
# run.sh - runs the fuzz targets, SECONDS each, two at a time.
#
# Usage: run.sh BUILD_DIR SECONDS [TARGET...]. The script prints a line for each target: name,
# executions a second, coverage. The finds stay in BUILD_DIR/tests/fuzz/found. A find makes the exit
# status 1. Seeds are in BUILD_DIR/tests/fuzz/corpus, made from $O2TOP_CAPTURES if they are missing.
set -eu
if [ $# -lt 2 ]; then
	echo "usage: run.sh BUILD_DIR SECONDS [TARGET...]" >&2
	exit 2
fi
here=$(cd "$(dirname "$0")" && pwd)
bin=$(cd "$1" && pwd)/tests/fuzz
seconds=$2
shift 2
captures=${O2TOP_CAPTURES:-$here/../data/captures}
[ -d "$bin/corpus" ] || sh "$here/corpus.sh" "$captures" "$bin/corpus"
mkdir -p "$bin/found" "$bin/log"
if [ $# -eq 0 ]; then
	for target in "$bin"/fuzz_*; do
		[ -f "$target" ] && [ -x "$target" ] && set -- "$@" "$(basename "$target" | sed 's/^fuzz_//')"
	done
fi
[ $# -gt 0 ] || { echo "run.sh: no targets in $bin: configure with -Dfuzz=true" >&2; exit 1; }

cat >"$bin/one.sh" <<'END'
bin=$1 seconds=$2 dictionary=$3 target=$4
log=$bin/log/$target
state=ok
mkdir -p "$bin/corpus/$target"
ASAN_OPTIONS=quarantine_size_mb=1 UBSAN_OPTIONS=print_stacktrace=1 "$bin/fuzz_$target" -max_total_time="$seconds" \
	-max_len=12288 -timeout=10 -rss_limit_mb=2048 -dict="$dictionary" -print_final_stats=1 \
	-artifact_prefix="$bin/found/$target-" "$bin/corpus/$target" >"$log" 2>&1 || state=FAILED
speed=$(sed -n 's/^stat::average_exec_per_sec: *//p' "$log")
cover=$(sed -n 's/.* cov: \([0-9]*\) ft: \([0-9]*\) .*/\1 edges, \2 features/p' "$log" | tail -n 1)
printf '%-12s %-7s %8s executions/s  %s\n' "$target" "$state" "${speed:--}" "$cover"
if [ $state = FAILED ]; then
	grep -m 3 -E 'runtime error|not true|ERROR: |SUMMARY|Test unit written' "$log" | sed 's/^/    /'
	exit 1
fi
END
printf '%s\n' "$@" | xargs -P 2 -n 1 sh "$bin/one.sh" "$bin" "$seconds" "$here/dictionary.txt"
