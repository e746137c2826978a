#!/bin/sh
# in_suite.sh - runs ./run build and ./run test of the last commit in a fresh root of a suite of Debian.
#
# Usage: in_suite.sh SUITE [COMMAND]. COMMAND stands for "./run build && ./run test 0", without fuzzers. The output goes
# on, and its last line is "N passed, N failed". Needs root.
set -eu
suite=$1
source=$(cd "$(dirname "$0")/../.." && pwd)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
trap 'exit 130' INT TERM HUP
mirror=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' | grep -m 1 '/debian$')
# a mirror that stands still has lists of sid that have expired
mmdebstrap --quiet --variant=apt --skip=cleanup/apt/lists --aptopt='Acquire::Check-Valid-Until "false"' "$suite" "$tmp" "$mirror"
mkdir "$tmp/glock"
git -C "$source" archive HEAD | tar -xf - -C "$tmp/glock"
# shellcheck disable=SC2016
unshare -m sh -ec 'mount --bind /proc "$0/proc" && mount --rbind /dev "$0/dev" && mount -t tmpfs -o mode=1777 tmpfs "$0/dev/shm"
	exec chroot "$0" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TERM=dumb LC_ALL=C.UTF-8 sh -ec "cd /glock; $1"' \
	"$tmp" "${2-./run build && ./run test 0}" </dev/null
