#!/bin/sh
# dump_abi.sh - prints libglock's ABI as XML; with --update, writes it into tests/data.
#
# The dump has only the contents of glock.h, because a program sees no other types and no other
# symbols.
set -eu

dump() {
	abidw --headers-dir "$SOURCE/include" --drop-private-types --no-corpus-path \
		--no-comp-dir-path --no-show-locs "$LIBRARY"
}

if [ "${1-}" = --update ]; then
	dump | xz -9 >"$SOURCE/tests/data/libglock.abi.xz"
else
	dump
fi
