#!/bin/sh
# test_run.sh - tests that ./run names the packages of other distributions, and that no service in a new
# package of Debian starts. Nothing is installed. TAP.
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

# A machine on which openssh-server is installed already, and a package brings another one along.
mkdir "$tmp/debian"
cat >"$tmp/debian/dpkg-query" <<'SH'
#!/bin/sh
case "$*" in
-L*) printf '/lib/systemd/system/%s.service\n/lib/systemd/system/%s@.service\n/etc/init.d/%s\n' "$2" "$2" "$2" ;;
*Package*) sed 's/^/installed /' "$TMP/installed" ;;
"-W -f"*) ! grep -qx "$4" "$TMP/installed" || printf installed ;;
*) for package in "$@"; do [ "$package" = -W ] || grep -qx "$package" "$TMP/installed" || exit 1; done ;;
esac
SH
cat >"$tmp/debian/apt-get" <<'SH'
#!/bin/sh
# says whether services may start
[ -x "$GLOCK_POLICY_RC" ] && "$GLOCK_POLICY_RC" || echo "status $? $*" >>"$TMP/services"
for package in "$@" brought-along; do
	case $package in -* | install) ;; *) echo "$package" >>"$TMP/installed" ;; esac
done
SH
printf '#!/bin/sh\necho "unit $*" >>"$TMP/services"\n' >"$tmp/debian/deb-systemd-helper"
printf '#!/bin/sh\necho "init $*" >>"$TMP/services"\n' >"$tmp/debian/update-rc.d"
printf '#!/bin/sh\nexec "$@"\n' >"$tmp/debian/sudo"
printf '#!/bin/sh\nexit 1\n' >"$tmp/debian/meson" # ends ./run
chmod +x "$tmp"/debian/*
echo openssh-server >"$tmp/installed"
TMP=$tmp PATH=$tmp/debian:$PATH GLOCK_POLICY_RC=$tmp/policy-rc.d ./run cluster-test >"$tap_log" 2>&1 </dev/null
cat "$tmp/services" >>"$tap_log"
grep -q '^status 101 .* corosync' "$tmp/services" && [ ! -e "$tmp/policy-rc.d" ]
result $? "no service of a new package starts while it is installed"
grep -qx 'unit disable corosync.service' "$tmp/services" && grep -qx 'init corosync disable' "$tmp/services" &&
	grep -qx 'unit disable brought-along.service' "$tmp/services"
result $? "nor at the next boot, and not one that another package brings along"
! grep -q 'openssh-server.service' "$tmp/services" && ! grep -q '@' "$tmp/services"
result $? "services that were there before stay as they are"
plan
