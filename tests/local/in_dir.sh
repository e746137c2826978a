#!/bin/sh
# in_dir.sh - runs COMMAND with lock spaces in a directory of its own in memory.
#
# Usage: in_dir.sh COMMAND... The directory is removed afterwards. IN_DIR names its parent.
dir=$(mktemp -d "${IN_DIR:-/dev/shm}/glock-test-XXXXXX") || exit 1
trap 'rm -rf "$dir"' EXIT
trap 'exit 130' INT TERM HUP
: "${MESON_EXE_WRAPPER=}" # Meson sets it if another machine is emulated
exec 4>&1
# descriptor 3 takes the exit status past sed, 4 the output
status=$({
	{
		GLOCK_DIR=$dir GLOCK_LOCKMAN=local $MESON_EXE_WRAPPER "$@" 3>&- 4>&-
		echo $? >&3
	} | sed -u -f "$(dirname "$0")/../tap_skip.sed" 3>&- >&4
} 3>&1)
exit "$status"
