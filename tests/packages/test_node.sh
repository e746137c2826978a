#!/bin/sh
# test_node.sh - tests the Node package in fresh roots of Debian without a compiler. TAP.
#
# Usage: test_node.sh FOLDER SUITE... FOLDER has the file for npm. In each root one line installs the file, and two processes run
# the program of the package's page. npm comes from npm, because Debian's package brings a compiler. Needs root.
set -u
folder=$(realpath "$1")
shift
page=$(realpath "$(dirname "$0")/../../bindings/node/README.md")
. "$(dirname "$0")/../tap.sh"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
trap 'exit 130' INT TERM HUP
mirror=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' | grep -m 1 '/debian$')
sed -n '/^A whole program/,/^## /s/^    //p' "$page" >"$tmp/program.js"
(cd "$tmp" && npm pack --silent npm@10 >/dev/null && tar -xzf npm-10.*.tgz)
result $? "npm comes from npm"
for suite; do
	root=$tmp/$suite
	mmdebstrap --quiet --variant=minbase --include=nodejs "$suite" "$root" "$mirror"
	result $? "a root of $suite"
	cp -r "$tmp/package" "$root/opt/npm"
	cp "$folder"/glock-*.tgz "$tmp/program.js" "$root/root/"
	# shellcheck disable=SC2016
	said=$(unshare -m sh -ec 'mount -t tmpfs -o mode=1777 tmpfs "$0/dev/shm" && mount -t proc proc "$0/proc" && exec chroot "$0" \
		env -i HOME=/root PATH=/usr/bin:/bin sh -ec "cd; ! command -v cc && node /opt/npm/bin/npm-cli.js install --offline --silent \
		--no-audit ./glock-*.tgz >/dev/null && node program.js && node program.js"' "$root" 2>&1 | tail -n 5)
	[ "$said" = "1
2" ]
	result $? "$suite: npm installs the package, and the program of the page works"
	[ "$said" = "1
2" ] || echo "$said" | sed 's/^/# /'
	rm -rf "$root"
done
plan
