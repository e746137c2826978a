#!/bin/sh
# run.sh - runs a test of the Node package, or skips it without Node.js and npm.
#
# Usage: run.sh TEST.js [ARGUMENT...]
for program in node npm; do
	command -v $program >/dev/null || {
		echo "1..0 # SKIP needs program $program"
		exit
	}
done
exec node "$@"
