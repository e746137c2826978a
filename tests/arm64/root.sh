#!/bin/sh
# root.sh - makes a root of Debian for arm64, and Meson's cross file for it.
#
# Usage: root.sh DIR PACKAGE... The packages are unpacked in DIR/root, and no script of theirs runs.
# DIR/cross.txt is the cross file. A root that has all these packages already is left as it is.
set -eu
dir=$1
shift
[ "$(cat "$dir/packages" 2>/dev/null)" != "$*" ] || exit 0
rm -rf "$dir"
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)

# the mirror of this machine
mirror=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' | grep -m 1 '/debian$') ||
	mirror=http://deb.debian.org/debian
suite=$(. /etc/os-release && echo "$VERSION_CODENAME")
packages=$*
for package in $packages; do
	set -- "$@" "--include=$package"
	shift
done
mmdebstrap --quiet --variant=extract --architectures=arm64 "$@" "$suite" "$dir/root" "$mirror" 2>"$dir/log" || {
	cat "$dir/log" >&2
	exit 1
}
emulator=$(command -v qemu-aarch64-static || command -v qemu-aarch64)
# The loader runs each program. QEMU's option -L would show the programs this root in place of /.
cat >"$dir/cross.txt" <<TEXT
[constants]
root = '$dir/root'
[binaries]
c = ['aarch64-linux-gnu-gcc', '--sysroot=' + root]
ar = 'aarch64-linux-gnu-gcc-ar'
strip = 'aarch64-linux-gnu-strip'
pkgconfig = 'pkg-config'
exe_wrapper = ['$emulator', root + '/lib/ld-linux-aarch64.so.1', '--library-path',
  root + '/lib/aarch64-linux-gnu:' + root + '/usr/lib/aarch64-linux-gnu']
[properties]
sys_root = root
pkg_config_libdir = [root + '/usr/lib/aarch64-linux-gnu/pkgconfig', root + '/usr/share/pkgconfig']
needs_exe_wrapper = true
[host_machine]
system = 'linux'
cpu_family = 'aarch64'
cpu = 'aarch64'
endian = 'little'
TEXT
echo "$packages" >"$dir/packages"
