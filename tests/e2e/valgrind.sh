#!/bin/sh
# valgrind.sh - runs o2top under valgrind in its roles: no error, no leak. TAP.
#
# The roles read recordings, write them, watch nodes over ssh (fakessh.sh), are a node's agent, and
# look for paths. O2TOP, O2TOP_CAPTURES and O2TOP_TESTS are the paths that meson test sets.
set -u
. "$(dirname "$0")/../tap.sh"

command -v valgrind >/dev/null || { echo "1..0 # SKIP needs program valgrind"; exit 0; }

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
trap 'exit 130' INT TERM HUP

# A wrapper named o2top, which the tests and the agents run. It starts o2top under valgrind, which
# writes its findings into $tmp/found.
mkdir "$tmp/bin" "$tmp/fake"
cat >"$tmp/bin/o2top" <<SH
#!/bin/sh
exec valgrind -q --leak-check=full --errors-for-leak-kinds=definite,indirect,possible --error-exitcode=99 \\
	--log-file="$tmp/found.%p" "$O2TOP" "\$@"
SH
chmod +x "$tmp/bin/o2top"
O2TOP=$tmp/bin/o2top
O2TOP_FAKE=$tmp/fake
export O2TOP O2TOP_FAKE

# clean WHAT COMMAND...: tests that COMMAND succeeds, and that valgrind finds nothing in its
# processes
clean() {
	what=$1
	shift
	rm -f "$tmp"/found.*
	status=0
	"$@" >"$tmp/out" 2>"$tmp/err" || status=$?
	{ cat "$tmp"/found.* "$tmp/err"; echo "status $status"; } >"$tmp/log"
	tap_log=$tmp/log
	[ "$status" = 0 ] && [ -s "$tmp/out" ] && ! cat "$tmp"/found.* | grep -q .
	result $? "$what"
}

nodes() {
	for node in node1 node2 node3; do
		printf 't0\nt1\nt2\n' >"$tmp/fake/$node.samples"
	done
	"$O2TOP" --ssh "$O2TOP_TESTS/fakessh.sh" -n node1 -n node2 -n node3 -t 0.5 "$@"
}

# modes MODE1 MODE2 MODE3
modes() {
	for node in node1 node2 node3; do
		echo "$1" >"$tmp/fake/$node.mode"
		shift
	done
}

cd "$O2TOP_CAPTURES" || exit 1
clean "a folder" "$O2TOP" -b --details -l 5 ocfs2-hang
clean "JSON of GFS2" "$O2TOP" --json -l 5 gfs2-hang
clean "a recording is written" "$O2TOP" -b --record "$tmp/some.o2r" ocfs2-hot
clean "a recording is read, from its middle on" "$O2TOP" --json -l 5 --replay "$tmp/some.o2r" \
	--from "@$(cut -d. -f1 ocfs2-hot/t2/node1/realtime)"
O2TOP_CAPTURE=$O2TOP_CAPTURES/ocfs2-hot
export O2TOP_CAPTURE
modes agent "" paths
clean "an agent, a shell, open files" nodes --json -i 3
modes garbage refused once
clean "nodes that lie, refuse and stop" nodes --json -i 4
modes endless mute ""
clean "nodes that send without end, or never" nodes --json -i 4 --sample-limit 2
plan
