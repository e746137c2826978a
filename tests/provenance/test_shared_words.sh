#!/bin/sh
# test_shared_words.sh - tests that shared_words.py finds a copied sentence and a copied function.
# TAP.
set -u
. "$(dirname "$0")/../tap.sh"
cd "$(dirname "$0")/../.." || exit 1

others=$(mktemp -d) || exit 1
trap 'rm -rf "$others"' EXIT
compare() { # folder
	python3 tests/provenance/shared_words.py "$others/$1" >"$others/out" 2>&1
	status=$?
}

mkdir "$others/none"
compare none
[ "$status" = 2 ]
result $? "a folder without text is an error"

mkdir "$others/own"
# Backwards, because this file belongs to the tree.
echo "Ghent near chimneys crooked nine upon quietly balance herons green seventeen" | tr ' ' '\n' | tac |
	tr '\n' ' ' >"$others/own/paper.txt"
compare own
[ "$status" = 0 ] && grep -q '^prose: 4 runs .* 0 shared' "$others/out"
result $? "an unrelated sentence is not shared"

mkdir "$others/prose"
sed -n '/^The above copyright/,/^copies/p' LICENSE >"$others/prose/licence.txt"
sed -n '/^A \*glock\*/,/^back and drops/p' README.md | tr 'a-z\n' 'A-Z ' >"$others/prose/paper.txt"
compare prose
[ "$status" = 1 ] && grep -q '^prose [0-9]*: README.md:' "$others/out" && ! grep -q LICENSE "$others/out"
result $? "a sentence is found in other lines and capitals, the licence is left out"

mkdir "$others/code"
sed 's|^\t*|    |' include/glock.h >"$others/code/copied.h"
compare code
[ "$status" = 1 ] && grep -q '^code [0-9]*: include/glock.h:' "$others/out"
result $? "code is found in another indentation"
plan
