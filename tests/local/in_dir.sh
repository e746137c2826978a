#!/bin/sh
# in_dir.sh - runs COMMAND with lock spaces in a directory of its own in memory.
#
# Usage: in_dir.sh COMMAND... The directory is removed afterwards.
dir=$(mktemp -d /dev/shm/glock-test-XXXXXX) || exit 1
trap 'rm -rf "$dir"' EXIT
trap 'exit 130' INT TERM HUP
GLOCK_DIR=$dir GLOCK_LOCKMAN=local "$@"
