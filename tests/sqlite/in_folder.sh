#!/bin/sh
# in_folder.sh - runs PROGRAM EXTENSION FOLDER ARGUMENT... with a database folder and spaces of its own.
#
# Usage: in_folder.sh PROGRAM EXTENSION [ARGUMENT...]
program=$1
extension=$2
shift 2
dir=$(mktemp -d /dev/shm/glock-sqlite-XXXXXX) || exit 1
trap 'rm -rf "$dir"' EXIT
trap 'exit 130' INT TERM HUP
mkdir "$dir/spaces" "$dir/data"
chmod 755 "$dir"
GLOCK_DIR=$dir/spaces "$program" "$extension" "$dir/data" "$@"
