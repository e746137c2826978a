#!/bin/sh
# test_cmake.sh - tests glock.hpp, and that CMake finds the installed library. TAP.
set -u
. "$(dirname "$0")/../tap.sh"
for program in cmake make c++; do
	command -v $program >/dev/null || { echo "1..0 # SKIP needs program $program"; exit 0; }
done
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
tap_log=$tmp/log

meson install -C "$BUILD" --no-rebuild --tags devel,runtime --destdir "$tmp/root" >"$tmp/log" 2>&1
result $? "installs"
config=$(find "$tmp/root" -name glockConfig.cmake)
prefix=${config%/lib*}

mkdir "$tmp/program"
cp "$SOURCE/tests/abi/guards.cc" "$tmp/program"
cat >"$tmp/program/CMakeLists.txt" <<'TEXT'
cmake_minimum_required(VERSION 3.13)
project(guards CXX)
find_package(glock 0.2 CONFIG REQUIRED)
find_package(Threads REQUIRED)
set(CMAKE_CXX_STANDARD 11)
add_executable(guards guards.cc)
target_compile_options(guards PRIVATE -Wall -Wextra -Wpedantic -Wshadow -Werror)
target_link_libraries(guards glock::glock Threads::Threads)
TEXT

cmake -S "$tmp/program" -B "$tmp/build" -DCMAKE_PREFIX_PATH="$prefix" >"$tmp/log" 2>&1
result $? "CMake finds the library"
cmake --build "$tmp/build" >"$tmp/log" 2>&1
result $? "a program with glock.hpp compiles as C++11, without a warning"
sed -n '/^```cpp$/,/^```$/p' "$SOURCE/docs/python.md" | grep -v '^```' >"$tmp/shop.cc"
# shellcheck disable=SC2046
c++ -std=c++11 -I"$prefix/include" "$tmp/shop.cc" -L"${config%/cmake/*}" -lglock -o "$tmp/shop" >"$tmp/log" 2>&1 &&
	LD_LIBRARY_PATH=${config%/cmake/*} "$tmp/shop" 2>"$tmp/log" | grep -q 'lock 42'
result $? "so does the program of docs/python.md, and runs"
"$tmp/build/guards" >"$tmp/log" 2>&1
result $? "std::unique_lock, tries, threads and errors"
cat >"$tmp/program/CMakeLists.txt" <<'TEXT'
cmake_minimum_required(VERSION 3.13)
project(guards NONE)
find_package(glock 1.0 CONFIG REQUIRED)
TEXT
! cmake -S "$tmp/program" -B "$tmp/later" -Dglock_DIR="${config%/*}" >"$tmp/log" 2>&1 &&
	tr -s '\n ' ' ' <"$tmp/log" | grep -q 'compatible with requested version'
result $? "a later version is refused"
plan
