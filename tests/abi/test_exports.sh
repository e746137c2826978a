#!/bin/sh
# test_exports.sh - tests that the library exports the functions of glock.h and nothing else. TAP.
set -u
. "$(dirname "$0")/../tap.sh"
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT

# The declarations of the headers, without the inline functions.
printf '#include <glock-choose.h>\n#include <glock-path.h>\n' | $CC -E -P -I "$SOURCE/include" - |
	grep -v '^typedef' | grep -oE '\bglock_[a-z0-9_]+ *\(' | tr -d ' (' | grep -vE '^glock_(scope_end|lock|lock_at|unlock)$' | sort -u >"$tmp/header"
nm -D --defined-only "$LIBRARY" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' | sort -u >"$tmp/library"
[ "$(wc -l <"$tmp/header")" -ge 37 ]
result $? "the header declares functions"
diff "$tmp/header" "$tmp/library" >"$tmp/differ"
status=$?
result $status "the library exports these and no others"
[ $status = 0 ] || sed 's/^/# /' "$tmp/differ"
readelf -d "$LIBRARY" | grep -q 'SONAME.*\[libglock\.so\.1\]'
result $? "its soname is libglock.so.1"
[ "$(nm -D --defined-only "$LIBRARY" | grep -cE '@@GLOCK_0\.[0-9]+$')" = "$(wc -l <"$tmp/library")" ]
result $? "each has a version, GLOCK_0.2 or a later one"

# The library of the simulator has the same functions, and those of glock-sim.h.
simulator=$(dirname "$LIBRARY")/../sim/libglock-sim.so.1
printf '#include <glock-sim.h>\n#include <glock-choose.h>\n#include <glock-path.h>\n' | $CC -E -P -I "$SOURCE/include" - |
	grep -v '^typedef' | grep -oE '\bglock_[a-z0-9_]+ *\(' | tr -d ' (' | grep -vE '^glock_(scope_end|lock|lock_at|unlock)$' | sort -u >"$tmp/header"
nm -D --defined-only "$simulator" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' | sort -u >"$tmp/library"
diff "$tmp/header" "$tmp/library" >"$tmp/differ"
status=$?
result $status "the simulator exports the functions of the headers and no others"
[ $status = 0 ] || sed 's/^/# /' "$tmp/differ"

# The packages give each name its version. dpkg-gensymbols only warns of a name that is missing there.
for pair in "libglock1 $LIBRARY" "libglock-sim1 $simulator"; do
	package=${pair%% *}
	nm -D --defined-only "${pair#* }" | awk '$2 != "A" { sub(/@@/, "@", $3); print $3 }' | sort >"$tmp/library"
	sed -n 's/^ \(glock_[^ ]*\) .*/\1/p' "$SOURCE/debian/$package.symbols" | sort >"$tmp/given"
	diff "$tmp/given" "$tmp/library" >"$tmp/differ"
	status=$?
	result $status "debian/$package.symbols has these names with their nodes"
	[ $status = 0 ] || sed 's/^/# /' "$tmp/differ"
done
plan
