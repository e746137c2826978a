#!/bin/sh
# heads.sh - tests that each source file begins with its own name.
#
# Usage: heads.sh. The output is TAP, a test for each folder. The head of a file is its first
# comment. Lines for the interpreter and the licence may come before. In Python the head may be the
# docstring. The head's first line has the form "NAME - TEXT". So a file that is renamed without its
# head fails.
set -u
here=$(cd "$(dirname "$0")" && pwd)
. "$here/tap.sh"
cd "$here/.." || exit 99

# The head's first line of FILE, without the marks of a comment.
head_of() {
	awk '
		NR == 1 && /^#!/ { next }
		/SPDX-License-Identifier/ { next }
		/^\/\*$/ { next }
		{
			if (!sub(/^(\/\* | \* |# |""")/, ""))
				print "no comment:", $0
			else
				print
			exit
		}
	' "$1"
}

# sources FOLDER: the files that need a head.
sources() {
	find "$1" -type f \( -name '*.[ch]' -o -name '*.sh' -o -name '*.bash' -o -name '*.py' -o -name '*.awk' \
		-o -name '*.sed' \) | sort
}

# heads FOLDER: a result for the folder; each bad file is a comment.
heads() {
	list=$(sources "$1")
	bad=0
	for file in $list; do
		head=$(head_of "$file")
		case $head in
		"${file##*/} - "?*) ;;
		*)
			echo "# $file begins with: $head"
			bad=$((bad + 1))
			;;
		esac
	done
	[ -n "$list" ] && [ "$bad" = 0 ]
	result $? "each file of $1 begins with its name"
}

for folder in src tests bench bindings examples contrib docs man; do
	heads "$folder"
done
plan
