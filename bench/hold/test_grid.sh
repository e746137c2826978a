#!/bin/sh
# SPDX-License-Identifier: MIT
# test_grid.sh - the goals of the default hold time, on some cells of a random grid. TAP.
#
# Usage: test_grid.sh BENCH_HOLD. grid.tsv has the best fixed hold time of each cell, as bench_hold
# has found it with the same seed. In virtual time the figures depend on nothing but the library.
set -e
dir=$(dirname "$0")
cells=$(mktemp)
trap 'rm -f "$cells"' EXIT
"$1" -j 2 -s 1 -e 6 -b "$dir/grid.tsv" >"$cells"
python3 "$dir/report.py" --goals "$cells"
