#!/bin/sh
# in_folder.sh - runs a test with a folder for databases and a folder for lock spaces.
#
# Usage: in_folder.sh PROGRAM EXTENSION [ARGUMENT...]; the folder is argument 2 of PROGRAM.
#        in_folder.sh - PROGRAM ARGUMENT...; the folder is beside GLOCK_DIR.
# The test runs in memory. The folders are removed afterwards.
dir=$(mktemp -d /dev/shm/glock-sqlite-XXXXXX) || exit 1
trap 'rm -rf "$dir"' EXIT
trap 'exit 130' INT TERM HUP
mkdir -m 777 "$dir/spaces" "$dir/data"
chmod 755 "$dir"
GLOCK_DIR=$dir/spaces
export GLOCK_DIR
if [ "$1" = - ]; then
	shift
	"$@"
else
	program=$1
	extension=$2
	shift 2
	"$program" "$(realpath "$extension")" "$dir/data" "$@"
fi
