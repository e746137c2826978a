#!/bin/sh
# SPDX-License-Identifier: MIT
# test_table.sh - tests the words of table.awk about limits: on standard output only. TAP.
table=$(cd "$(dirname "$0")" && pwd)/table.awk
. "$(dirname "$0")/../tests/tap.sh"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1

expect() { # WHAT TEXT FIGURES
	said=$(printf '%b' "$3" | awk -f "$table")
	case $said in
	*"$2"*) result 0 "$1" ;;
	*)
		echo "$said" | sed 's/^/# /'
		result 1 "$1"
		;;
	esac
}

expect "two missed" "*** 2 LIMITS MISSED ***" 'a\t2\tus\t-\t1\nb\t3\tus\t1\t1.5\n'
expect "one missed" "*** 1 LIMIT MISSED ***" 'a\t2\tus\t-\t1\nb\t1\tus\t1\t1.5\n'
expect "met" " 1.5  met" 'a\t1\tus\t1\t1.5\n'
expect "no limit" "1 us           -        -        -" 'a\t1\tus\t-\t-\n'
[ -z "$(ls)" ]
result $? "no file is left"
plan
