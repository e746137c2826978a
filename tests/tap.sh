# tap.sh - for tests that are shell scripts: . "$(dirname "$0")/../tap.sh"
#
# result STATUS WHAT prints a line of TAP, and $tap_log behind a failure where that is a file with
# something in it; plan, last, prints how many there were and fails if one of them did.
n=0
failed=0
tap_log=

result() { # status what
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
