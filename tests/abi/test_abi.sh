#!/bin/sh
# test_abi.sh - tests that the library's ABI is that of tests/data/libglock.abi.xz. TAP.
#
# Two additions are allowed: new functions, and new members at the end of structs that carry their
# size. If another change is meant, run ninja -C build-gcc update-abi and check the difference in
# git. A change that breaks older programs needs a new soversion as well (src/glock/meson.build).
set -u
. "$(dirname "$0")/../tap.sh"
here=$(dirname "$0")
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT

compare() { # old new
	abidiff --no-added-syms --suppressions "$here/added.supp" "$1" "$2" >"$tmp/report" 2>&1
}

command -v abidiff >/dev/null && command -v abidw >/dev/null
result $? "abidiff and abidw are there (package abigail-tools)"
case $(abidw --version) in
"abidw: 2."* | "") ;;
*)
	echo "ok 2 # SKIP needs abidw 2"
	echo 1..2
	exit 0
	;;
esac
xz -dc "$SOURCE/tests/data/libglock.abi.xz" >"$tmp/old" && sh "$here/dump_abi.sh" >"$tmp/new"
result $? "the ABI now and then"
compare "$tmp/old" "$tmp/new"
status=$?
result $status "nothing was taken away or changed"
[ $status = 0 ] || {
	sed 's/^/# /' "$tmp/report"
	echo "# if that was meant: ninja -C $BUILD update-abi"
}

# Tests that the comparison would notice.
grep -v "elf-symbol name='glock_nq_at'" "$tmp/new" >"$tmp/less"
! compare "$tmp/new" "$tmp/less"
result $? "a function that is gone is noticed"
sed "s/\(enumerator name='GLOCK_EX' value=\)'1'/\1'7'/" "$tmp/new" >"$tmp/other"
! cmp -s "$tmp/new" "$tmp/other" && ! compare "$tmp/new" "$tmp/other"
result $? "a constant that changed is noticed"
plan
