#!/bin/sh
# in_dir.sh COMMAND...: runs it with spaces in a directory in memory of its own, which then goes.
dir=$(mktemp -d /dev/shm/glock-test-XXXXXX) || exit 1
trap 'rm -rf "$dir"' EXIT
trap 'exit 130' INT TERM HUP
GLOCK_DIR=$dir GLOCK_LOCKMAN=local "$@"
