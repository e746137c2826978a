#!/bin/sh
# golden.sh - tests glock(1)'s help and error messages against tests/golden.
#
# Usage: golden.sh [--update]. The output is TAP. GLOCK and GOLDEN are the paths that meson test
# sets.
set -u
. "$(dirname "$0")/../same.sh"
GLOCK_LOCKMAN=local
GLOCK_DIR=$(mktemp -d /dev/shm/glock-golden-XXXXXX) || exit 99
export GLOCK_LOCKMAN GLOCK_DIR
out=$GLOCK_DIR/.out
trap 'rm -rf "$GLOCK_DIR"' EXIT
golden=$GOLDEN

say() { # say ARGS...: prints the command line, its output, and its exit status
	echo "\$ glock $*"
	"$GLOCK" "$@" 2>&1
	echo "($?)"
}

compare() { # compare NAME: compares $out with the file of that name
	same "$1" cat "$out"
}

{
	say --help
	for command in run hold who ls stat top trace demote rm bench; do
		say $command --help
	done
} >"$out"
compare glock-help

{
	say
	say nosuch
	say run
	say run -q
	say run s
	say run s n
	say run -w soon s n true
	say run -E 300 s n true
	say run -F -o s n true
	say run -u s n true
	say run -w
	say run s n -c
	say run --lockman nosuch s n true
	say run "$(printf 'x%.0s' $(seq 70))" n true
	say run s n /nonexistent/command
	say who a b
	say who /nonexistent
	say ls nothing
	say ls a b
	say stat
	say stat nothing
	say stat s nosuch
	say stat --format 5.0 s
	say stat -n 1 s
	say trace
	say trace -t soon s
	say demote s
	say demote s main EX
	say demote s 99:1 EX
	say demote s 2:1 XX
	say demote s 2:1 EX
	say rm
	say rm nothing
	say bench -t 0
} >"$out"
compare glock-errors

plan
