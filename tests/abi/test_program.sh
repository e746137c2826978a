#!/bin/sh
# test_program.sh - the program at the head of glock.h compiles without a warning, and caches its file. TAP.
#
# The test takes the program out of the comment. Two processes of the program share a file. Each
# process reads the file once, and again only after the other one wrote it.
set -u
. "$(dirname "$0")/../tap.sh"
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
tap_log=$tmp/log
GLOCK_DIR=$tmp/spaces
GLOCK_LOCKMAN=local
LD_LIBRARY_PATH=$(dirname "$LIBRARY")
export GLOCK_DIR GLOCK_LOCKMAN LD_LIBRARY_PATH
mkdir -m 700 "$GLOCK_DIR"

program() {
	awk '/^ \*\t#include <glock\.h>/ { inside = 1 } inside && /^ \* / { exit } inside' "$SOURCE/include/glock.h" |
		sed 's/^ \*\t\{0,1\}//'
}

wait_for() { # text: until the file has it
	i=0
	until [ "$(cat "$tmp/file" 2>/dev/null)" = "$1" ]; do
		i=$((i + 1))
		[ $i -lt 300 ] || return 1
		sleep 0.1
	done
}

program >"$tmp/cached_file.c"
[ "$(grep -vc '^[[:space:]]*[{}]*$' "$tmp/cached_file.c")" = 40 ]
result $? "the program has 40 lines besides braces"
# shellcheck disable=SC2086
$CC -std=c17 -Wall -Wextra -Wpedantic -Werror -I "$SOURCE/include" "$tmp/cached_file.c" \
	"$LIBRARY" -o "$tmp/cached_file" >"$tmp/log" 2>&1
result $? "the program compiles without a warning"

printf 'one\n\n\n' | "$tmp/cached_file" "$tmp/file" >"$tmp/out" 2>"$tmp/log"
result $? "the program runs"
printf 'one\none\none\n' | cmp -s - "$tmp/out"
result $? "a process does not read what it wrote"
printf '\n\n' | "$tmp/cached_file" "$tmp/file" >"$tmp/out" 2>"$tmp/log"
printf '(read the file) one\none\n' | cmp -s - "$tmp/out"
result $? "a process reads the file once"

mkfifo "$tmp/lines"
"$tmp/cached_file" "$tmp/file" <"$tmp/lines" >"$tmp/out" 2>"$tmp/log" &
first=$!
exec 3>"$tmp/lines"
echo two >&3
wait_for two && echo three | "$tmp/cached_file" "$tmp/file" >"$tmp/other" 2>&1
result $? "another process writes while the first has the file cached"
printf '\n\n' >&3
exec 3>&-
wait "$first"
printf '(read the file) two\n(read the file) three\nthree\n' | cmp -s - "$tmp/out"
result $? "the first process reads the file again, once"
plan
