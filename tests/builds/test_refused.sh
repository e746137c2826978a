#!/bin/sh
# test_refused.sh - tests that the configuration refuses machines and C libraries without a test. TAP.
set -u
. "$(dirname "$0")/builds.sh"

# Meson compiles small programs only, and runs none of them. So no package for 32 bits is needed.
printf '#!/bin/sh\nexec gcc -m32 -nostdlib -Wl,--unresolved-symbols=ignore-all "$@"\n' >"$tmp/cc32"
chmod +x "$tmp/cc32"
cat >"$tmp/i686.txt" <<TEXT
[binaries]
c = '$tmp/cc32'
ar = 'ar'
[host_machine]
system = 'linux'
cpu_family = 'x86'
cpu = 'i686'
endian = 'little'
TEXT
! configure 32 --cross-file "$tmp/i686.txt" && grep -q 'ERROR: .*glock needs a 64-bit machine' "$tap_log"
result $? "a compiler for 32 bits is refused, with the reason"

# uClibc and others define neither __GLIBC__ nor have musl's header.
printf '#!/bin/sh\nexec gcc -U__GLIBC__ -idirafter /usr/include -nostdinc -I%s "$@"\n' "$tmp/libc" >"$tmp/cc-libc"
chmod +x "$tmp/cc-libc"
mkdir "$tmp/libc"
touch "$tmp/libc/features.h"
! CC=$tmp/cc-libc configure libc && grep -q 'ERROR: .*glock needs glibc' "$tap_log"
result $? "another C library is refused, with the reason"

if [ -f /etc/debian_version ] && [ -d /usr/lib64 ] && [ ! -L /usr/lib64 ]; then
	mkdir "$tmp/bin"
	printf '#!/bin/sh\nexit 1\n' >"$tmp/bin/dpkg-architecture"
	chmod +x "$tmp/bin/dpkg-architecture"
	! PATH=$tmp/bin:$PATH configure lib64 && grep -q 'ERROR: .*apt-get install dpkg-dev, or -Dlibdir=lib' "$tap_log"
	result $? "Debian without dpkg-dev is refused, with the way out"
	PATH=$tmp/bin:$PATH configure lib -Dlibdir=lib
	result $? "and the way out works"
fi
plan
