#!/bin/sh
# test_wheel.sh - tests a wheel in fresh roots of Debian without a compiler. TAP.
#
# Usage: test_wheel.sh FOLDER SUITE... FOLDER has the wheel. In each root one line installs the wheel, and a program of ten
# lines uses the module in two processes. Needs root.
set -u
folder=$(realpath "$1")
shift
. "$(dirname "$0")/../tap.sh"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
trap 'exit 130' INT TERM HUP
mirror=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' | grep -m 1 '/debian$')
cat >"$tmp/count.py" <<'END'
import glock, os
with glock.Space("count") as space:
    with space.lock("number"):
        number = int(open("number").read() or 0) if os.path.exists("number") else 0
        open("number", "w").write(str(number + 1))
child = os.fork()
with glock.Space("count") as space, space.lock("number"):
    number = int(open("number").read())
    open("number", "w").write(str(number + 1))
if child and os.waitpid(child, 0):
    print(open("number").read(), glock.__version__)
END
for suite; do
	root=$tmp/$suite
	mmdebstrap --quiet --variant=minbase --include=python3-venv --aptopt='Acquire::Check-Valid-Until "false"' "$suite" "$root" \
		"$mirror"
	result $? "a root of $suite"
	cp "$folder"/*.whl "$tmp/count.py" "$root/root/"
	# shellcheck disable=SC2016
	said=$(unshare -m sh -ec 'mount -t tmpfs -o mode=1777 tmpfs "$0/dev/shm" && exec chroot "$0" env -i HOME=/root LC_ALL=C.UTF-8 \
		PATH=/usr/bin:/bin sh -ec "cd; ! command -v cc && python3 -m venv env && env/bin/pip -q install --no-index ./glock-*.whl &&
		env/bin/python count.py"' "$root" 2>&1 | tail -n 3)
	[ "${said%% *}" = 3 ]
	result $? "$suite: pip installs the wheel, and the module works"
	[ "${said%% *}" = 3 ] || echo "# $said"
	rm -rf "$root"
done
plan
