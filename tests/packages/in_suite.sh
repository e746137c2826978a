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
mmdebstrap --quiet --variant=apt --include=mount --skip=cleanup/apt/lists --aptopt='Acquire::Check-Valid-Until "false"' "$suite" "$tmp" "$mirror"
mkdir "$tmp/glock"
git -C "$source" archive HEAD | tar -xf - -C "$tmp/glock"
# Below a chroot the kernel refuses namespaces, which tests need. So the root becomes that of a mount namespace.
# shellcheck disable=SC2016
unshare -m sh -ec 'mount --bind "$0" "$0" && cd "$0" && for f in proc dev sys; do mount --rbind /$f $f; done && mount -t tmpfs -o mode=1777 tmpfs dev/shm
	pivot_root . mnt && cd / && umount -l /mnt && exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TERM=dumb LC_ALL=C.UTF-8 sh -ec "cd /glock; $1"' \
	"$tmp" "${2-./run build && ./run test 0}" </dev/null
