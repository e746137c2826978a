#!/bin/sh
# root.sh - makes a folder with what a build for musl needs: headers of the kernel and of SQLite, jansson, cmocka.
#
# Usage: root.sh DIR. Debian has no libraries for musl, so the two come from Debian's source packages. The package
# manager of the machine stays as it is: the list of sources is one of DIR's own.
set -eu
mkdir -p "$1/include" "$1/lib/pkgconfig" "$1/apt/lists/partial" "$1/apt/cache/archives/partial"
cd "$1"
dir=$PWD
[ ! -e ready ] || exit 0

echo "deb-src http://deb.debian.org/debian bookworm main" >sources.list
set -- -o "Dir::Etc::sourcelist=$dir/sources.list" -o Dir::Etc::sourceparts=- \
	-o "Dir::State::lists=$dir/apt/lists" -o "Dir::Cache=$dir/apt/cache" -o APT::Sandbox::User=root \
	-o Acquire::Retries=3
apt-get "$@" update >log 2>&1 && apt-get "$@" source --download-only jansson cmocka >>log 2>&1 || {
	cat log >&2
	exit 1
}

# The headers of glibc would hide those of musl, so only some are taken from their folder.
ln -sfn /usr/include/linux /usr/include/asm-generic "/usr/include/$(gcc -print-multiarch)/asm" include
ln -sf /usr/include/sqlite3.h /usr/include/sqlite3ext.h include
cat >lib/pkgconfig/sqlite3.pc <<TEXT
Name: SQLite
Description: the headers alone
Version: $(pkg-config --modversion sqlite3)
Cflags: -I$dir/include
TEXT

for name in jansson cmocka; do
	mkdir -p $name
	tar -xf ${name}_*.orig.tar.[gx]z -C $name --strip-components=1
	cmake -S $name -B $name/build -DCMAKE_C_COMPILER=musl-gcc "-DCMAKE_INSTALL_PREFIX=$dir" -DCMAKE_INSTALL_LIBDIR=lib \
		-DBUILD_SHARED_LIBS=OFF -DJANSSON_WITHOUT_TESTS=ON -DJANSSON_EXAMPLES=OFF -DJANSSON_BUILD_DOCS=OFF \
		-DWITH_EXAMPLES=OFF -DWITH_STATIC_LIB=ON >>log 2>&1 && cmake --build $name/build --target install >>log 2>&1 || {
		cat log >&2
		exit 1
	}
done
# A program finds no library in this folder.
find . -name libcmocka-static.a -exec cp {} lib/libcmocka.a \;
rm -f lib/libcmocka.so*
touch ready
