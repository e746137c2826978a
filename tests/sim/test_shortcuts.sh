#!/bin/sh
# test_shortcuts.sh - a library with shortcuts and a library without behave alike
#
# usage: test_shortcuts.sh LOG_SHORTCUTS LOG_GENERAL
#
# Both programs are test_shortcuts.c. Their logs must be equal, in order and in time. A log has the
# grants, the answers, the calls of operations, and the requests. Prints TAP.
set -u
. "$(dirname "$0")/../tap.sh"

seeds=5000
faulty=2000
with=$1
without=$2
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
tap_log=$dir/why

# Runs schedules, and writes their hashes into a file.
hashes() { # program file schedules fault
	timeout 120 "$1" hashes 1 "$3" "$4" >"$2"
}

# The first seed of which the logs differ, and where.
explain() {
	seed=$(diff "$dir/with" "$dir/without" | sed -n 's/^< seed \([0-9]*\) .*/\1/p' | head -n 1)
	[ -n "$seed" ] || return
	timeout 60 "$with" log "$seed" >"$dir/with.log" 2>&1
	timeout 60 "$without" log "$seed" >"$dir/without.log" 2>&1
	echo "seed $seed: < with shortcuts, > without; again: $with log $seed"
	diff "$dir/with.log" "$dir/without.log" | head -n 20
}

hashes "$with" "$dir/with.all" $seeds "" 2>"$tap_log"
ended=$?
hashes "$without" "$dir/without.all" $seeds "" 2>>"$tap_log"
ended=$((ended + $?))
grep '^seed' "$dir/with.all" >"$dir/with"
grep '^seed' "$dir/without.all" >"$dir/without"
cmp -s "$dir/with" "$dir/without" || explain >>"$tap_log"
[ "$ended" = 0 ] && cmp -s "$dir/with" "$dir/without" && [ "$(wc -l <"$dir/with")" = $seeds ]
result $? "the logs of $seeds schedules are the same with shortcuts and without"
tap_log=

# A shortcut that no schedule takes is not compared.
while read -r name least; do
	taken=$(sed -n "s/^taken $name //p" "$dir/with.all")
	[ "${taken:-0}" -ge "$least" ] && grep -q "^taken $name 0\$" "$dir/without.all"
	result $? "$name was taken at least $least times (${taken:-0}), and never without shortcuts"
done <<LEAST
lone_miss 100000
is_at_rest 4000
miss 3000
grant_alone 400
LEAST

# Each fault of a shortcut shows: the logs differ, or the program ends with an error.
head -n $faulty "$dir/without" >"$dir/without.few"
"$with" faults >"$dir/faults"
[ -s "$dir/faults" ]
result $? "src/base/faults.h lists faults of the shortcuts"
while read -r fault what; do
	hashes "$with" "$dir/faulty.all" $faulty "$fault" 2>/dev/null
	ended=$?
	grep '^seed' "$dir/faulty.all" >"$dir/faulty"
	[ "$ended" != 0 ] || ! cmp -s "$dir/faulty" "$dir/without.few"
	result $? "$fault: $what"
done <"$dir/faults"

plan
