#!/bin/sh
# field.sh - tests what o2top says of inputs as people have them: one dump, one node, no clocks.
#
# Usage: field.sh [--update]. The output is TAP. Each case has a frame with details and the line of
# --check in tests/golden/field-NAME.txt. O2TOP, O2TOP_CAPTURES and O2TOP_DATA are the paths that
# meson test sets.
set -u
. "$(dirname "$0")/../same.sh"
golden=$O2TOP_DATA/../golden
cd "$O2TOP_CAPTURES/field" || exit 99
LC_ALL=C.UTF-8 TZ=UTC
export LC_ALL TZ
unset COLUMNS NO_COLOR

told() { # told ARGS...: the last frame, the line of --check and its status
	"$O2TOP" -b --details "$@" 2>&1 </dev/null | awk '/^o2top / { text = "" } { text = text $0 "\n" } END { printf "%s", text }'
	"$O2TOP" --check "$@" 2>/dev/null </dev/null
	echo "status $?"
}

check() { # check NAME ARGS...
	name=field-$1
	shift
	same "$name" told "$@"
}

for form in one two dlm noclock; do
	check 01-$form 01/$form
done
for form in plain dlm plain-v3 dlm-v3; do
	check 02-$form 02/$form
done
for form in v3 v3-tasks v4 v4-tasks; do
	check 03-$form 03/$form
	check 04-$form 04/$form
done
for form in rhel5 rhel6 ended el9; do
	check 05-$form 05/$form/glocks
done
check 05-two 05/rhel5-two
check 06-two 06/two
check 07-fslocks 07/fslocks.txt
check 07-dlmlocks 07/dlmlocks.txt
check 07-both 07/fslocks.txt 07/dlmlocks.txt
check 07-as 07/as
check 08-lockcapture 08/gfs2_lockcapture-2026-08-09
check 08-run1 08/gfs2_lockcapture-2026-08-09/run1
for form in dlm_locks_data.txt data_all fs1_locks glocktop.txt locksonly; do
	check 09-${form%.txt} 09/$form
done
for form in v1 v2 v3 v4 count-v1 count-v2; do
	[ -d 23/$form ] && check 23-$form 23/$form
done
check 24-sos 24/sos
check 24-plain 24/plain/web1.locking_state 24/plain/web2.locking_state
check 24-one-node --recording 24/plain/web1.locking_state 24/plain/web2.locking_state
plan
