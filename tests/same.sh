# same.sh - for tests that compare an output with a file of tests/golden. $golden is that folder.
#
# With --update as the argument of the test the output becomes the file.
n=0
update=
[ "${1-}" = --update ] && update=1

same() { # same NAME COMMAND...: compares what COMMAND prints with NAME.txt
	name=$1
	shift
	n=$((n + 1))
	if [ "$update" ]; then
		"$@" >"$golden/$name.txt" 2>&1
	elif difference=$("$@" 2>&1 | diff -u "$golden/$name.txt" -); then
		echo "ok $n - $name"
	else
		printf '%s\n' "$difference" | sed 's/^/# /'
		echo "not ok $n - $name"
	fi
}

plan() {
	[ "$update" ] || echo "1..$n"
}
