# builds.sh - for tests of builds: a folder $tmp for them, which goes at the end.
. "$(dirname "$0")/../tap.sh"
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
tap_log=$tmp/log
unset CFLAGS LDFLAGS DESTDIR

# configure DIR OPTION...: sets a build folder up in $tmp. Warnings of Meson are errors. Meson warns if
# the tree uses a feature that is newer than the version in meson.build.
configure() {
	dir=$1
	shift
	meson setup --fatal-meson-warnings "$tmp/$dir" "$SOURCE" -Dwerror=true -Dtests=false "$@" >"$tap_log" 2>&1
}
