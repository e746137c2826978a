#!/bin/sh
# test_rules.sh - tests that every function and every test in docs/rules.md exists. TAP.
#
# A cell "file:name" must be a file of this tree in which a line defines that name: a function, a
# table, or a test that is registered. A rule without both cells is a failure. So is a file with too
# few rules, because an empty table proves nothing.
set -u
. "$(dirname "$0")/../tap.sh"
cd "$(dirname "$0")/../.." || exit 1

rules=docs/rules.md

defines() { # defines FILE:NAME
	file=${1%%:*}
	name=${1#*:}
	[ -f "$file" ] || return 1
	case $file in
	*.h | src/*) # defined, not called: behind its type at the beginning of a line
		grep -Eq "^[A-Za-z#][A-Za-z0-9_ \\*]*[ \\*]$name([^A-Za-z0-9_]|\$)" "$file" ;;
	tests/*.c) # a function that main() gives to cmocka
		grep -q "^static void $name(void" "$file" && grep -Eq "(cmocka.*|TEST|ROOT|MOUNT)\($name[,)]" "$file" ;;
	*)
		grep -q "$name" "$file" ;;
	esac
}

while IFS='|' read -r _ from rule where test _; do
	where=$(echo $where)
	test=$(echo $test)
	defines "$where" && defines "$test"
	ok=$?
	result $ok "$(echo $from: $rule)"
	[ "$ok" = 0 ] || echo "# $where $test"
done <<EOF
$(grep -E '^\| [A-Z] \|' "$rules")
EOF

[ "$n" -ge 110 ]
result $? "docs/rules.md lists rules"
plan
