#!/bin/sh
# dump_abi.sh - libglock's ABI as XML, on standard output; with --update, into tests/data.
#
# Only what glock.h shows: a program sees neither other types nor other symbols.
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
