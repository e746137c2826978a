#!/bin/bash
# test_completion.sh FILE: what bash would offer behind beginnings of command lines. TAP.
# GLOCK is the program, which is found as glock here.
GLOCK_DIR=$(mktemp -d /dev/shm/glock-completion-XXXXXX) || exit 99
export GLOCK_DIR GLOCK_LOCKMAN=local
trap 'rm -rf "$GLOCK_DIR"' EXIT
mkdir "$GLOCK_DIR/.bin" && ln -s "$GLOCK" "$GLOCK_DIR/.bin/glock" && PATH=$GLOCK_DIR/.bin:$PATH
# shellcheck source=/dev/null
. "$1"
glock run shop n true && glock run barn n true
n=0

offers() { # offers WANTED WORD...: the last word is being completed
	want=$1
	shift
	COMP_WORDS=(glock "$@") COMP_CWORD=$#
	_glock
	n=$((n + 1))
	got=$(printf '%s\n' "${COMPREPLY[@]}" | sort | tr '\n' ' ')
	if [ "$got" = "$want " ]; then
		echo "ok $n - glock $*"
	else
		echo "# offered: $got"
		echo "not ok $n - glock $*"
	fi
}

offers 'stat' st
offers 'rm run' r
offers 'shop' run s
offers 'shop' run -x -w 5 s
offers 'shop' run -n s
offers '--shared' run --s
offers '--help barn shop' rm ''
offers 'dlm local none' run --lockman ''
offers '6.1 7.0' stat --format ''
offers 'glocks glstats' stat shop gl
offers 'DF EX SH' demote shop 2:5 ''
echo "1..$n"
