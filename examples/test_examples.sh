#!/bin/sh
# test_examples.sh - runs the examples and checks their output.
#
# Usage: test_examples.sh FOLDER, which has the built examples. The output is TAP. Each example is
# alone in its cluster.
set -u
folder=$1
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
GLOCK_LOCKMAN=none
export GLOCK_LOCKMAN
n=0
failed=0

check() { # what expected got
	n=$((n + 1))
	if [ "$2" = "$3" ]; then
		echo "ok $n - $1"
	else
		echo "not ok $n - $1"
		printf '%s\n' "expected: $2" "got: $3" | sed 's/^/# /'
		failed=$((failed + 1))
	fi
}

run() { # run EXAMPLE ARGUMENT...: prints the output and the exit status
	name=$1
	shift
	"$folder/example_$name" "$@" 2>&1
	echo "exit $?"
}

mkdir "$tmp/groups"
check allocator "allocator: No space left on device
group 0: 3 blocks
group 1: 3 blocks
exit 1" "$(run allocator "$tmp/groups" 10 2 3)"
check "allocator: no block gets lost" "3 3" "$(cat "$tmp/groups/0" "$tmp/groups/1" | xargs)"
check counter "read 1 times, written 1 times
exit 0" "$(run counter "$tmp/number" 1000)"
check "counter: nothing is lost" "1000" "$(tr -d ' ' <"$tmp/number")"
run counter "$tmp/number" 234 >/dev/null
check "counter goes on" "1234" "$(tr -d ' ' <"$tmp/number")"
check "counter: a file that cannot be" "counter: No such file or directory
exit 1" "$(run counter "$tmp/no/number" 1)"
check transfer "8 accounts hold 8000
exit 0" "$(run transfer 2000)"
check version "changed 3 times, looked 30 times, read anew 3 times
exit 0" "$(run version 3)"
check loop "7
8
9
exit 0" "$(printf '7\n8\n9\n' | run loop)"
check "loop: one lock for several" "7
7
7
exit 0" "$(printf '7\n7\n7\n' | run loop)"
check notify "7
8
9
exit 0" "$(printf '7\n8\n9\n' | run notify | sort)"
check "notify: one lock for several" "7
7
7
exit 0" "$(printf '7\n7\n7\n' | run notify)"
check "simulate: the right cache" "100 runs: each number was right after each step
exit 0" "$(run simulate right 100)"
found=$(run simulate wrong 100)
check "simulate: finds the bug" "exit 1" "$(echo "$found" | tail -n 1)"
seed=$(echo "$found" | sed -n 's/^seed \([0-9]*\), step .*/\1/p')
check "simulate: the seed repeats the run" "$found" "$(run simulate wrong 1 "$seed")"
echo "1..$n"
[ "$failed" = 0 ]
