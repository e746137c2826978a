#!/bin/sh
# package.sh - builds .debs, .rpms and a source archive of the committed tree.
#
# Usage: package.sh DIR [debs|rpms|source]... The results are in DIR. Without names, all three. The file
# DIR/debs/commit names the commit of the .debs.
set -eu
cd "$(dirname "$0")/.."
out=$1
shift
[ $# != 0 ] || set -- source debs rpms
mkdir -p "$out"
out=$(cd "$out" && pwd)
version=$(sed -n "s/^  version: '\(.*\)',$/\1/p" meson.build)
name=glock-$version
commit=$(git rev-parse HEAD)
# The time of the commit, so that two builds are the same.
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct "$commit")
export SOURCE_DATE_EPOCH

git archive --prefix="$name/" "$commit" | xz -T1 >"$out/$name.tar.xz"
for what in "$@"; do
	case $what in
	source) (cd "$out" && sha256sum "$name.tar.xz" >"$name.tar.xz.sha256sum") ;;
	debs)
		rm -rf "$out/debs" && mkdir "$out/debs"
		echo "$commit" >"$out/debs/commit"
		tar -xJf "$out/$name.tar.xz" -C "$out/debs"
		(cd "$out/debs/$name" && DEB_BUILD_OPTIONS=parallel=$(nproc) dpkg-buildpackage -us -uc -b >../log 2>&1) || {
			tail -n 40 "$out/debs/log" >&2
			exit 1
		}
		;;
	rpms)
		rm -rf "$out/rpms" && mkdir "$out/rpms"
		rpmbuild -bb --without checks_of_names --with python --define "_topdir $out/rpms" --define "_sourcedir $out" \
			packaging/glock.spec >"$out/rpms.log" 2>&1 || {
			tail -n 40 "$out/rpms.log" >&2
			exit 1
		}
		;;
	*)
		echo "package.sh: $what: one of debs, rpms, source" >&2
		exit 2
		;;
	esac
done
