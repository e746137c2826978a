#!/bin/sh
# test_program.sh - the program at the head of glock.h is examples/tutorial/cached_file.c. TAP.
#
# The test takes the program out of the comment. In a comment of C the program's own comments begin
# with "//". The test of the tutorial runs examples/tutorial/cached_file.c.
set -u
. "$(dirname "$0")/../tap.sh"
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
tap_log=$tmp/log
example=$SOURCE/examples/tutorial/cached_file.c

program() {
	awk '/^ \*\t#include/ { inside = 1 } inside && /^ \* / { exit } inside' "$SOURCE/include/glock.h" |
		sed 's/^ \*\t\{0,1\}//'
}

program >"$tmp/cached_file.c"
[ "$(grep -vcE '^[[:space:]]*([{}]*|//.*)$' "$tmp/cached_file.c")" -le 40 ]
result $? "the program has at most 40 lines besides braces and comments"
# shellcheck disable=SC2086
$CC -std=gnu17 -Wall -Wextra -Wpedantic -Werror -I "$SOURCE/include" "$tmp/cached_file.c" \
	"$LIBRARY" -o "$tmp/cached_file" >"$tmp/log" 2>&1
result $? "the program compiles without a warning"
sed 's,// \(.*\)$,/* \1 */,; ${/^$/d}' "$tmp/cached_file.c" >"$tmp/head"
sed -n '/^#include/,$p' "$example" | diff -u - "$tmp/head" >"$tmp/log"
result $? "the program is that of the tutorial"
plan
