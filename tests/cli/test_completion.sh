#!/bin/bash
# test_completion.sh - tests the words that bash offers to complete partial command lines.
#
# Usage: test_completion.sh FILE. The output is TAP. GLOCK is the program, and the test finds it as
# glock.
GLOCK_DIR=$(mktemp -d /dev/shm/glock-completion-XXXXXX) || exit 99
export GLOCK_DIR GLOCK_LOCKMAN=local
trap 'kill "${others[@]}" 2>/dev/null; rm -rf "$GLOCK_DIR"' EXIT
others=()
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
	got=$(printf '%s\n' "${COMPREPLY[@]}" | LC_ALL=C sort | tr '\n' ' ')
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
offers '--help --lockman barn shop' rm ''
offers 'dlm etcd local none' run --lockman ''
offers '6.1 6.18 7.0' stat --format ''
offers 'glocks glstats' stat shop gl
offers '--help --json' who --
offers "$1" who "${1%?}"
offers 'DF EX SH' demote shop 2:5 ''

# Any user may have given these names to a space and to a process. No command in them may run.
# shellcheck disable=SC2016
{
	cd "$GLOCK_DIR" || exit 99
	glock run '$(>.ran)' n true && glock run '`>.ran`' n true && glock run 'two words' n true && glock run '*' n true
	ln -s "$GLOCK" '.bin/$(>.ran)' && ln -s "$GLOCK" '.bin/a node'
	for name in '$(>.ran)' 'a node'; do
		mkfifo ".up"
		".bin/$name" run -o shop "$name" sh -c 'echo up >.up; exec sleep 600' &
		others+=($!)
		read -r _ <.up && rm .up
	done
	offers "--help --lockman \\\$\\(\\>.ran\\) \\* \\\`\\>.ran\\\` barn shop two\\ words" rm ''
	offers "\\\$\\(\\>.ran\\)" run '$'
	offers 'two\ words' stat two
	offers 'two\ words' stat 'two\ w'
	offers "\\\$\\(\\>.ran\\)-${others[0]} a\\ node-${others[1]}" stat -n ''
	offers "a\\ node-${others[1]}" stat shop -n a
}
n=$((n + 1))
if [ -e .ran ]; then
	echo "not ok $n - nothing of a name is run"
else
	echo "ok $n - nothing of a name is run"
fi
echo "1..$n"
