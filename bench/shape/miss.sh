#!/bin/sh
# miss.sh - counts the functions that an uncontended miss calls, and their files
#
# usage: miss.sh [-n] [SOURCE [LOCKMAN]]
#
# Compiles the library of the tree SOURCE (this one) with gcc -O1, and traces one glock_nq() by
# uftrace. Forced inlines are not counted; -n counts each function (-fno-inline). LOCKMAN is local.
# Prints each call with its file if VERBOSE is set.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
inline=
if [ "${1:-}" = -n ]; then
	inline=-fno-inline
	shift
fi
source=$(cd "${1:-$here/../..}" && pwd)
lockman=${2:-local}
dir=$(mktemp -d /dev/shm/glock-miss-XXXXXX)
trap 'rm -rf "$dir"' EXIT

mkdir "$dir/base" "$dir/spaces"
printf '#define GLOCK__VERSION_NUMBER GLOCK_VERSION\n#define GLOCK__VERSION_TEXT "0"\n' >"$dir/base/version.h"
cd "$source"
find src/base src/glock src/lockman/table src/lockman/local src/lockman/dlm src/lockman/none \
	-name '*.c' >"$dir/sources"
i=0
while read -r file; do
	i=$((i + 1))
	echo "$source/$file $dir/$i.o"
done <"$dir/sources" | xargs -P "$(nproc)" -L 1 sh -c 'exec gcc -O1 -g -pg -std=gnu17 -D_GNU_SOURCE -w \
	'"$inline"' -Iinclude -Isrc -I'"$dir"' -c "$0" -o "$1"'
gcc -O1 -g -pg -std=gnu17 -D_GNU_SOURCE -Iinclude "$here/miss.c" "$dir"/*.o -o "$dir/miss" -ldl -pthread
GLOCK_DIR=$dir/spaces uftrace record --no-libcall --srcline -d "$dir/trace" "$dir/miss" "$lockman" >/dev/null
uftrace replay -d "$dir/trace" -F one_miss -f none --srcline >"$dir/calls"
[ -z "${VERBOSE:-}" ] || cat "$dir/calls"
awk '/\(\)/ {
	if (!match($0, /\/\* [^ ]*:[0-9]+ \*\//)) next
	file = substr($0, RSTART + 3, RLENGTH - 6)
	sub(/:[0-9]+.*/, "", file)
	if (file ~ /miss\.c$/) next
	calls++
	changes += last != "" && file != last
	last = file
	if (!(file in seen)) { seen[file] = 1; files++ }
}
END { printf "%d calls in %d files, %d changes of the file\n", calls, files, changes }' "$dir/calls"
