#!/bin/sh
# format.sh - tests that each C file has the layout of .clang-format
#
# Versions of clang-format differ in their layout, so version 14 judges.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/tap.sh

program=$(command -v clang-format-14 || command -v clang-format)
case $("${program:-false}" --version 2>/dev/null) in
*"version 14."*) ;;
*)
	echo "1..0 # SKIP needs program clang-format-14"
	exit
	;;
esac

tap_log=$(mktemp)
trap 'rm -f "$tap_log"' EXIT
find src include tests bench examples bindings -name '*.[ch]' -o -name '*.cc' -o -name '*.hpp' |
	xargs "$program" --dry-run --Werror 2>"$tap_log"
result $? "each file of C has the layout of .clang-format: $program -i FILE"
printf 'int  main( void ) { return 0; }\n' | "$program" --dry-run --Werror --assume-filename=src/x.c 2>"$tap_log"
[ $? = 1 ]
result $? "another layout is found"
plan
