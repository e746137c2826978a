#!/bin/sh
# corpus.sh - makes the files that the fuzz targets begin with.
#
# Usage: corpus.sh CAPTURES CORPUS. CAPTURES holds unpacked recordings. Each target gets a folder of
# small files: a few hundred lines of real nodes, cut so that a run is fast.
set -eu
if [ $# -ne 2 ]; then
	echo "usage: corpus.sh CAPTURES CORPUS" >&2
	exit 2
fi
captures=$1
corpus=$2
mkdir -p "$corpus"
for target in archive clean corosync dlm forms fs_state glocks glstats input lock_time mounts names ocfs2_line ocfs2_lvb ocfs2_name plocks recording replay sbstats wire; do
	mkdir -p "$corpus/$target"
done

# pick TARGET NAME EVERY FILES...: takes each EVERYth line of the files, 8 lines a seed
pick() {
	target=$1 name=$2 every=$3
	shift 3
	awk -v every="$every" 'FNR % every == 1 || every == 1' "$@" | head -n 240 | split -l 8 -a 3 - "$corpus/$target/$name-"
}

hot=$captures/ocfs2-hot/t0/node1
hang=$captures/gfs2-hang/t1/node1
[ -d "$hot" ] && [ -d "$hang" ] || { echo "corpus.sh: no recordings in $captures" >&2; exit 1; }

support=$captures/support
for text in dmesg.txt messages fslocks.txt glocktop.txt dlm_locks dlm_locks_fs1 lockdump2 fs1_locks; do
	head -n 40 "$support/$text" | cut -c 1-400 >"$corpus/forms/$text"
done
head -c 2000 "$captures"/kernels/7.2/t0/node1/dlm/fs1_all >"$corpus/forms/all"
for end in "" z j J; do
	(cd "$support" && tar -c${end}f - dmesg.txt rhel6 sos/web1) >"$corpus/archive/tar$end"
done
gzip -c "$support/dmesg.txt" >"$corpus/archive/single"

pick ocfs2_line state 7 "$hot"/ocfs2/*/locking_state
pick ocfs2_line wait 1 "$captures"/ocfs2-hang/t1/node1/ocfs2/*/locking_state
cut -f2 "$hot"/ocfs2/*/locking_state | sort -u | head -n 200 | split -l 20 - "$corpus/ocfs2_name/n-"
pick glocks g 9 "$hang"/gfs2/*/glocks
grep -h '^ [HIR]:' "$captures"/gfs2-*/t*/node*/gfs2/*/glocks | sort -u | head -n 200 | split -l 8 - "$corpus/glocks/h-"
pick glstats s 9 "$hang"/gfs2/*/glstats
pick sbstats s 1 "$hang"/gfs2/*/sbstats
pick dlm d 13 "$hang"/dlm/fs1_all "$hot"/dlm/*_all
pick fs_state f 1 "$hot"/ocfs2/*/fs_state
printf '\050\377/mnt/o2/a\033[2Jb\342\200\256c\377\303\244\344\270\255d and a long way to go from here' >"$corpus/clean/nasty"
printf '\005%039d%024d' 0 0 >"$corpus/ocfs2_lvb/five"
printf '\000%063d' 0 >"$corpus/ocfs2_lvb/none"
printf '7a\nb\n\n\360\360\360\nend' >"$corpus/input/short"
printf '9\360\360\360\360\360\360\360\360\360\360\360\360\360\360\360\360\nx\n' >"$corpus/input/max"
printf '36 35 254:0 / /mnt/o2\\040a rw,noatime shared:1 - ocfs2 /dev/vdb rw\n37 35 254:16 / /mnt/gfs2 rw - gfs2 /dev/vdc rw\n' >"$corpus/mounts/two"
printf '32264 /mnt/o2/spool\n32272 /mnt/o2/victim db\n7 x' >"$corpus/names/three"

printf 'nodelist {\n node {\n  ring0_addr: 10.77.0.1\n  name: node1\n }\n node {\n ring0_addr: 10.77.0.2\n }\n}\n' >"$corpus/corosync/two"
printf '\007N S S 100.5 832.84 ok\nN F mountinfo 100.6 832.90 \na mount\n\nN E 0 100.7 832.91 \nN L glocks 1 1 1 1 8 0 x:y\nN\006a\nb\nc\nN L glocks 1 1 1 1 4 0 x:y\nR\000R\003N Z 1 1\n' >"$corpus/wire/sample"

printf '4: POSIX  ADVISORY  WRITE 1234 fd:01:12827 0 EOF sqlite3\n' >"$corpus/plocks/kernel"
printf '9288 WR 0-99 nodeid 1 pid 77 owner ffff8c0a rown 0 WAITING\n9289 rown 1 unused_ms 20\ncomm 77 sqlite3\n' >"$corpus/plocks/daemon"

trace=$captures/gfs2-trace/node2/trace
if [ -f "$trace" ]; then
	grep gfs2_glock_lock_time "$trace"
else
	xz -dc "$trace.xz" | grep gfs2_glock_lock_time
fi | head -n 120 | split -l 6 - "$corpus/lock_time/t-"

# recording NAME SPACE-FILTER FOLDERS...: makes one file of samples of node a (and b)
us() { awk '{ printf "%.0f", $1 * 1000000 }' "$1"; }
sample() {
	n=$1 node=$2 from=$3 which=$4
	printf '@%s%sR\n%s\n@%s%sU\n%s\n' "$n" "$node" "$(us "$from/realtime")" "$n" "$node" "$(us "$from/uptime")"
	for file in L:ocfs2/*/locking_state F:ocfs2/*/fs_state G:gfs2/*/glocks S:gfs2/*/glstats B:gfs2/*/sbstats D:dlm/fs1_all O:o2dlm/*/locking_state M:o2dlm/*/dlm_state; do
		printf '@%s%s%s\n' "$n" "$node" "${file%%:*}"
		grep -h -A 1 -E "$which" "$from"/${file#*:} 2>/dev/null | grep -v '^--$' | head -n 5 || true
	done
}
for capture in ocfs2-hot ocfs2-hang gfs2-hot gfs2-hang; do
	at=0
	for t in t0 t1 t2; do
		[ -d "$captures/$capture/$t/node1" ] && sample $at a "$captures/$capture/$t/node1" \
			'7e10|26b3|7e03|inode|Gen|[WM]0000000000000000007e1' >>"$corpus/recording/$capture.new"
		[ -d "$captures/$capture/$t/node2" ] && sample $at b "$captures/$capture/$t/node2" \
			'7e10|26b3|7e03' >>"$corpus/recording/$capture.new"
		at=$((at + 1))
	done
	mv "$corpus/recording/$capture.new" "$corpus/recording/$capture"
done

# recordings in one file, with few lines
for capture in ocfs2-hot ocfs2-hang gfs2-hang; do
	small=$corpus/replay.small
	for t in t0 t1 t2; do
		from=$captures/$capture/$t/node1
		[ -d "$from" ] || continue
		for file in realtime uptime ocfs2/*/locking_state gfs2/*/glocks gfs2/*/glstats; do
			for path in "$from"/$file; do
				[ -f "$path" ] || continue
				to=$small/$t/node1/${path#"$from/"}
				mkdir -p "$(dirname "$to")"
				head -n 6 "$path" | cut -c 1-600 >"$to"
			done
		done
	done
	"$(dirname "$corpus")/seed_replay" "$small" "$corpus/replay/$capture" "$corpus/replay/$capture.file"
	rm -r "$small"
done
