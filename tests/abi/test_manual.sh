#!/bin/sh
# test_manual.sh - tests that the headers say of each function whether it waits. TAP.
#
# The comment before the function has "at once" or "waits". Declarations that follow each other
# share a comment.
set -u
header=$(cat "$SOURCE/include/glock.h" "$SOURCE/include/glock-choose.h" "$SOURCE/include/glock-path.h")
n=0
failed=0

said() { # said FUNCTION: prints the comment above it
	awk -v name="$1" '
		/^\/\*/ { comment = ""; inside = 1 }
		inside { comment = comment " " $0; if (/\*\//) inside = 0; next }
		/^#define/ { next } # glock_nq() stands before glock_nq_at()
		$0 ~ "(^|[ *])" name "\\(" { print comment; exit }
		/^(enum|struct) .*{$/ { comment = "" }' <<TEXT
$header
TEXT
}

for function in $(grep -oE '^	glock_[a-z0-9_]+' "$SOURCE/src/glock/libglock.map"); do
	n=$((n + 1))
	if said "$function" | grep -qiE '[^a-z](at once|waits)[^a-z]'; then
		echo "ok $n - $function"
	else
		echo "not ok $n - $function: does it wait?"
		failed=$((failed + 1))
	fi
done
n=$((n + 1))
if [ "$n" -ge 38 ]; then
	echo "ok $n - there are functions"
else
	echo "not ok $n - there are functions"
	failed=$((failed + 1))
fi
echo "1..$n"
[ "$failed" = 0 ]
