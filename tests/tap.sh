# tap.sh - for tests that are shell scripts: . "$(dirname "$0")/../tap.sh"
#
# result STATUS WHAT prints a line of TAP. After a failure it also prints the file $tap_log, if that
# has contents. plan comes last. It prints the number of tests, and fails if a test failed.
n=0
failed=0
tap_log=

result() { # result STATUS WHAT
	n=$((n + 1))
	if [ "$1" = 0 ]; then
		echo "ok $n - $2"
	else
		echo "not ok $n - $2"
		[ ! -s "$tap_log" ] || sed 's/^/# /' "$tap_log"
		failed=$((failed + 1))
	fi
}

plan() {
	echo "1..$n"
	[ "$failed" = 0 ]
}
