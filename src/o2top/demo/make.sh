#!/bin/sh
# make.sh - makes the recording that o2top --demo shows, demo.o2r and demo.names, from those in tests/data. It shows three
# nodes with a busy OCFS2, and five minutes later, in the same boot, a hang. Needs a built o2top, $O2TOP or build/o2top.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
data=$here/../../../tests/data
program=${O2TOP:-$here/../../../build/o2top}
program=$(cd "$(dirname "$program")" && pwd)/${program##*/}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"
for name in ocfs2-hot ocfs2-hang; do
	tar -xJf "$data/$name.tar.xz"
	# one after the other, each sample under a name of its own; OCFS2 alone, as GFS2 was idle
	for sample in "$name"/t*; do
		mkdir -p demo
		mv "$sample" "demo/${name#ocfs2-}-${sample##*/t}"
	done
done
for sample in demo/hang-*; do
	mv "$sample" "demo/jam-${sample##*-}"
done
find demo -mindepth 3 -maxdepth 3 ! -name ocfs2 ! -name o2dlm ! -name realtime ! -name uptime -exec rm -r {} +
"$program" -b -l 1 --record demo.o2r demo >/dev/null
cat "$data/ocfs2-hot.names" "$data/ocfs2-hang.names" | sort -u >demo.names
cp demo.o2r demo.names "$here"
ls -l "$here/demo.o2r"
