#!/bin/sh
# test_run.sh - tests that ./run names the packages of other distributions, without installing any. TAP.
set -u
. "$(dirname "$0")/builds.sh"
cd "$SOURCE" || exit 1

# Each package that ./run may name has a row.
sed 's/#.*//; s/\\$//' run | tr '\n' ' ' | grep -oE 'need(_quietly)? [a-z0-9?][a-z0-9 +.\t-]*' | tr ' \t' '\n\n' |
	grep -vE '^(need|need_quietly|)$' | sort -u >"$tmp/needed"
grep -v '^#' packaging/packages | awk '{ print $1 }' | sort -u >"$tmp/known"
[ "$(wc -l <"$tmp/needed")" -gt 30 ] && comm -23 "$tmp/needed" "$tmp/known" >"$tap_log" && [ ! -s "$tap_log" ]
result $? "packaging/packages knows each package that ./run needs"
! awk '!/^#/ && NF != 3' packaging/packages | grep .
result $? "each row has a name for three distributions"

# An rpm that knows no package but gcc.
mkdir "$tmp/bin"
printf '#!/bin/sh\n[ "$3" = gcc ]\n' >"$tmp/bin/rpm"
chmod +x "$tmp/bin/rpm"

on() { # on ID PRETTY_NAME COMMAND...: what ./run says there
	printf 'ID="%s"\nID_LIKE="%s"\nPRETTY_NAME="%s"\n' "${1%% *}" "$1" "$2" >"$tmp/os"
	shift 2
	PATH=$tmp/bin:$PATH GLOCK_OS_RELEASE=$tmp/os ./run "$@" >"$tap_log" 2>&1 </dev/null
}
! on "rocky rhel centos fedora" "Rocky Linux 9.4" build &&
	grep -q '^run: Rocky Linux 9.4; as root: dnf install .* jansson-devel .*pkgconf-pkg-config' "$tap_log" &&
	! grep -q ' gcc ' "$tap_log"
result $? "RHEL: the missing packages, with dnf"
! on "sles suse" "SUSE Linux Enterprise Server 15 SP5" build &&
	grep -q '^run: SUSE .*; as root: zypper install .* libjansson-devel' "$tap_log"
result $? "SLES: the same, with zypper"
printf '#!/bin/sh\n' >"$tmp/bin/rpm" # and one that has them all
! on "sles suse" "SUSE Linux Enterprise Server 15 SP5" soak arm64 && grep -q 'runs on Debian only' "$tap_log"
result $? "a command without packages there says so"
! on "void" "Void Linux" build && grep -q '^run: Void Linux: .*Debian calls them: gcc ' "$tap_log"
result $? "another distribution: the names of Debian"
plan
