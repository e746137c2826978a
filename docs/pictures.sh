#!/bin/sh
# pictures.sh - makes docs/o2top-*.svg from o2top's output on recordings of real clusters.
#
# Usage: docs/pictures.sh [CAPTURES]. CAPTURES is a folder that holds ocfs2-hot and ocfs2-hang.
# Without it the script unpacks them from tests/data. O2TOP is the program, build/o2top if it is not
# set. The script needs script(1), which gives o2top a terminal, so that o2top shows its colours.
set -eu

docs=$(cd "$(dirname "$0")" && pwd)
program=${O2TOP:-$docs/../build/o2top}
program=$(cd "$(dirname "$program")" && pwd)/${program##*/}
[ -x "$program" ] || { echo "$0: no $program: ./run build makes it" >&2; exit 1; }
captures=${1:-}
[ -z "$captures" ] || captures=$(cd "$captures" && pwd)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
trap 'exit 1' HUP INT TERM

# recording NAME: puts the recording and its paths at $tmp/NAME and $tmp/NAME.names
recording()
{
	cp "$docs/../tests/data/$1.names" "$tmp"
	if [ -n "$captures" ]; then
		ln -s "$captures/$1" "$tmp/$1"
		return
	fi
	mkdir "$tmp/unpacked-$1"
	tar -xJf "$docs/../tests/data/$1.tar.xz" -C "$tmp/unpacked-$1"
	set -- "$1" "$(find "$tmp/unpacked-$1" -type d -name t0 | sort | head -n 1)"
	ln -s "${2%/t0}" "$tmp/$1"
}

# picture NAME SAMPLES ARGUMENT...: draws the frames of these samples below their command line
picture()
{
	name=$1 samples=$2
	shift 2
	{
		printf '\033[2m$\033[0m o2top %s\n' "$*"
		(cd "$tmp" && TERM=xterm TZ=UTC LC_ALL=C.UTF-8 NO_COLOR='' COLUMNS=118 \
			script -qec "'$program' -b $*" /dev/null </dev/null) | tr -d '\r' |
			awk -v samples=" $samples " '
				# the first line of a frame names its sample
				/^(\033\[[0-9;]*m)?o2top/ { show = 0; for (i = 1; i <= NF; i++) show += index(samples, " " $i " ") > 0 }
				show'
	} | LC_ALL=C awk -v title="o2top" -f "$docs/terminal.awk" >"$tmp/$name.svg"
	grep -q LOST/s "$tmp/$name.svg" || { echo "$0: $name: o2top showed no such sample" >&2; exit 1; }
	mv "$tmp/$name.svg" "$docs/$name.svg"
	echo "docs/$name.svg"
}

recording ocfs2-hot
recording ocfs2-hang

picture o2top-hot t4 --names ocfs2-hot.names -l 7 ocfs2-hot
picture o2top-hang 't1 t2' --names ocfs2-hang.names -l 1 ocfs2-hang
