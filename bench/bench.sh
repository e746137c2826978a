#!/bin/sh
# bench.sh - measures o2top's speed and memory, as ratios to a peer of the same run.
#
# Usage: bench.sh BUILD_DIR. The script makes recordings of 1,000,000 locks a node, measures, and
# prints a table. The recordings are in a temporary folder, take less than 3 GB, and are removed at
# the end. A missed limit is printed clearly but is no error, because a slow machine is no bug. The
# numbers also go to BUILD_DIR/bench.tsv, which chart.awk draws. O2TOP_BENCH_LOCKS=N measures with
# fewer locks.
set -eu

build=${1:?usage: bench.sh BUILD_DIR}
locks=${O2TOP_BENCH_LOCKS:-1000000}
runs=7

tmp=$(mktemp -d "${TMPDIR:-/tmp}/o2top-bench.XXXXXX")
trap 'rm -rf "$tmp"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

say()
{
	echo "bench: $*" >&2
}

# Prints the median of column $2 of file $1.
median()
{
	awk -v c="$2" '{ print $c }' "$1" | sort -n |
		awk '{ a[NR] = $1 } END { print NR % 2 ? a[(NR + 1) / 2] : (a[NR / 2] + a[NR / 2 + 1]) / 2 }'
}

calc()
{
	awk "BEGIN { printf \"$1\", $2 }"
}

# row NAME OURS UNIT PEER LIMIT: prints a line of the table. The limit is for OURS / PEER, or for
# OURS if PEER is "-".
row()
{
	printf '%s\t%s\t%s\t%s\t%s\n' "$1" "$2" "$3" "$4" "$5" >>"$tmp/table"
}

gen()
{
	"$build/bench/gen_locking_state" -l "$locks" "$@"
}

# Reads the samples of recording $1 in one thread, $2 times. Makes a file of the last sample's
# figures.
take_last()
{
	i=0
	while [ $i -lt "$2" ]; do
		"$build/bench/bench_o2top" take "$1" | tail -n 1
		i=$((i + 1))
	done >"$tmp/take"
}

# ---- preparations -----------------------------------------------------------------------------------------

say "building"
ninja -C "$build" o2top bench/gen_locking_state bench/measure bench/bench_o2top >"$tmp/ninja" || {
	cat "$tmp/ninja" >&2
	exit 1
}
measure=$build/bench/measure
o2top=$build/o2top
free_kb=$(df -Pk "$tmp" | awk 'NR == 2 { print $4 }')
if [ "$free_kb" -lt $((locks * 3)) ]; then
	say "$tmp has $((free_kb / 1000)) MB free, $((locks * 3 / 1000)) MB are needed: set TMPDIR or O2TOP_BENCH_LOCKS"
	exit 2
fi
cpus=$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 1)
two=
if [ "$cpus" -gt 2 ] && command -v taskset >/dev/null; then
	two="taskset -c 0,1"
fi

# ---- one node: the parser ---------------------------------------------------------------------------------

rec=$tmp/rec
say "making a recording: 3 nodes, 3 samples, $locks locks each, 1 % of them active in each"
gen -n 2 -s 3 "$rec"
for t in t0 t1 t2; do # a third node, equal to the first one, needs no disk
	uuid=$(ls "$rec/$t/node1/ocfs2")
	mkdir -p "$rec/$t/node3/ocfs2/$uuid"
	for f in realtime uptime "ocfs2/$uuid/locking_state" "ocfs2/$uuid/fs_state"; do
		ln "$rec/$t/node1/$f" "$rec/$t/node3/$f"
	done
done
file=$(ls "$rec"/t1/node1/ocfs2/*/locking_state)
cat "$file" >/dev/null
bytes=$(wc -c <"$file")

command -v mawk >/dev/null && peer=mawk || peer=
i=0
while [ $i -lt $runs ]; do
	i=$((i + 1))
	say "reading one file of $((bytes / 1000000)) MB, ${peer:-no mawk here} and o2top in turn: $i of $runs"
	# shellcheck disable=SC2016
	[ -z "$peer" ] || "$measure" mawk -F'\t' '{s+=$79} END {print s}' "$file" >>"$tmp/mawk"
	"$measure" "$build/bench/bench_o2top" shots "$file" >>"$tmp/shots"
	"$build/bench/bench_o2top" parse "$file" >>"$tmp/parse"
	"$measure" "$build/bench/bench_o2top" lines "$file" >>"$tmp/lines"
done
mawk_s=-
limit=-
if [ -n "$peer" ]; then
	mawk_s=$(calc %.4f "$(median "$tmp/mawk" 1)")
	limit=0.333
fi
shots_s=$(calc %.4f "$(median "$tmp/shots" 1)")
row "a locking_state into Shots (peer: mawk adds up field 79)" "$shots_s" s "$mawk_s" $limit
row "  of that: reading the file and finding its lines" "$(calc %.4f "$(median "$tmp/lines" 1)")" s - -
row "  the parser alone, a line" \
	"$(calc %.1f "1e9 * $(median "$tmp/parse" 2) / $(median "$tmp/parse" 3)")" ns - -

# ---- three nodes: a frame ---------------------------------------------------------------------------------

"$build/bench/gen_locking_state" -l 100 -n 3 -s 3 "$tmp/small"
i=0
while [ $i -lt 5 ]; do
	i=$((i + 1))
	say "frames of 3 nodes with $locks locks each: $i of 5"
	# shellcheck disable=SC2086
	$two "$measure" "$o2top" --json -l 20 "$rec" >>"$tmp/frame"
	"$measure" "$o2top" --json -l 20 "$tmp/small" >>"$tmp/frame-small"
done
frame_s=$(calc %.4f "$(median "$tmp/frame" 5)")
rss=$(calc %.1f "($(median "$tmp/frame" 4) - $(median "$tmp/frame-small" 4)) * 1024 / (3 * $locks)")
row "a frame of 3 nodes (read, match, rank, print)" "$frame_s" s - 2
row "resident memory a lock (peak of the process)" "$rss" B - 200

say "samples of one node into a table"
rm -rf "$rec"/t*/node2 "$rec"/t*/node3
take_last "$rec" 5
row "one node's sample into its table, one thread" "$(calc %.4f "$(median "$tmp/take" 2)")" s - -
row "  memory a lock (table_bytes)" "$(calc %.1f "$(median "$tmp/take" 11) / $locks")" B - -
row "  calls of malloc for all $locks lines" "$(median "$tmp/take" 9)" "" - $((locks / 100))
rm -rf "$rec"

say "the same with the lines that the kernel loses, others in each sample"
gen -k -s 3 "$rec"
take_last "$rec" 3
row "  the same where the kernel loses lines, $(median "$tmp/take" 3) left" \
	"$(calc %.4f "$(median "$tmp/take" 2)")" s - -
rm -rf "$rec"

say "a long watch: 30 samples, a quarter of what is active changes from one to the next"
"$build/bench/gen_locking_state" -l $((locks / 25)) -s 30 "$rec"
take_last "$rec" 1
row "memory a lock after 30 samples (table_bytes)" "$(calc %.1f "$(median "$tmp/take" 11) * 25 / $locks")" B - 200
rm -rf "$rec"

# ---- GFS2 -------------------------------------------------------------------------------------------------

say "GFS2: $locks glocks, 3 samples"
gen -g -s 3 "$rec"
i=0
while [ $i -lt 5 ]; do
	i=$((i + 1))
	"$measure" "$o2top" --json -l 20 "$rec" >>"$tmp/gfs2"
done
take_last "$rec" 3
row "GFS2: a frame of 1 node (glstats and glocks)" "$(calc %.4f "$(median "$tmp/gfs2" 5)")" s - -
row "  memory a glock (table_bytes)" "$(calc %.1f "$(median "$tmp/take" 11) / $locks")" B - -
rm -rf "$rec"

# ---- the result -------------------------------------------------------------------------------------------

cp "$tmp/table" "$build/bench.tsv"
model=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo 2>/dev/null | head -n 1)
echo
echo "$(date +%Y-%m-%d), $(uname -sr), ${model:-unknown CPU}, $cpus CPUs, load$(uptime | sed 's/.*load averages*//')"
echo "$locks locks a node, 1 % of them active in each sample; medians"
echo
awk -v what=o2top -f bench/table.awk "$tmp/table"
echo
echo "o2locktop's documentation gives 50,000 locks a second; here it is" \
	"$(calc %.0f "$locks / $shots_s") a second into Shots, $(calc %.0f "3 * $locks / $frame_s") in a frame."
