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

# judge FILE...: prints "ok FILE", or a comment about its head. One process for all files, because a
# process for each takes half a minute on a busy machine.
judge() {
	awk '
		FNR == 1 && /^#!/ { next }
		/SPDX-License-Identifier/ { next }
		/^\/\*$/ { next }
		{
			name = FILENAME
			sub(/.*\//, "", name)
			head = $0
			if (!sub(/^(\/\* | \* |# |""")/, "", head))
				print "# " FILENAME " begins with no comment: " head
			else if (index(head, name " - ") != 1 || length(head) == length(name " - "))
				print "# " FILENAME " begins with: " head
			else
				print "ok " FILENAME
			nextfile
		}
	' "$@"
}

# sources FOLDER: the files that need a head.
sources() {
	find "$1" -type f \( -name '*.[ch]' -o -name '*.sh' -o -name '*.bash' -o -name '*.py' -o -name '*.awk' \
		-o -name '*.sed' \) | sort
}

# heads FOLDER: a result for the folder; each bad file is a comment.
heads() {
	list=$(sources "$1")
	# shellcheck disable=SC2086
	judged=$(judge $list)
	echo "$judged" | grep '^#'
	# an empty file is not judged
	[ -n "$list" ] && [ "$(echo "$judged" | grep -c '^ok ')" = "$(echo "$list" | wc -l)" ]
	result $? "each file of $1 begins with its name"
}

for folder in src tests bench bindings examples contrib docs man; do
	heads "$folder"
done
plan
