#!/bin/sh
# test_checkers.sh - tests that memcheck and ThreadSanitizer are quiet in a program that uses libglock,
# and that ThreadSanitizer still finds the program's own race. TAP.
#
# LIBRARY_DIR has the shared library, which was built without a sanitizer.
set -u
. "$(dirname "$0")/builds.sh"
GLOCK_DIR=$tmp/spaces
LD_LIBRARY_PATH=$LIBRARY_DIR
export GLOCK_DIR LD_LIBRARY_PATH
mkdir "$GLOCK_DIR"

build() { # build PROGRAM COMPILER...
	program=$tmp/$1
	shift
	"$@" -g -O1 -I"$SOURCE/include" "$SOURCE/tests/builds/program.c" -o "$program" -L"$LIBRARY_DIR" -lglock \
		-pthread >"$tap_log" 2>&1
}

# of 300 turns of 4 threads, every third one is for SH
counts() {
	[ "$(grep -v '^#' "$tap_log")" = 800 ]
}

build plain gcc
for lockman in none local; do
	valgrind -q --leak-check=full --show-leak-kinds=all --error-exitcode=99 "$tmp/plain" $lockman >"$tap_log" 2>&1 && counts
	result $? "memcheck finds nothing with lock manager $lockman"
done
for compiler in gcc clang; do
	build $compiler $compiler -fsanitize=thread
	TSAN_OPTIONS="suppressions=$SOURCE/contrib/glock.tsan" "$tmp/$compiler" local >"$tap_log" 2>&1 && counts
	result $? "ThreadSanitizer of $compiler finds nothing"
	! TSAN_OPTIONS="suppressions=$SOURCE/contrib/glock.tsan" "$tmp/$compiler" local race >"$tap_log" 2>&1 &&
		grep -q 'data race.*turn' "$tap_log"
	result $? "and finds a race of the program"
done
plan
