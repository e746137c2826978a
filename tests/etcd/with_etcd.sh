#!/bin/sh
# with_etcd.sh - runs a command beside an etcd of one member, which ends with the command.
#
# Usage: with_etcd.sh PLUGINS COMMAND... The data is in memory. If a test kills etcd, its number in
# $ETCD_DIR/pid, etcd starts again as soon as there is no file $ETCD_DIR/down. Without etcd, the script
# says why and skips the test.
set -eu

plugins=$1
shift
etcd=${ETCD:-$(command -v etcd || :)}
[ -x "$etcd" ] || etcd=$(dirname "$0")/../../build-tools/usr/bin/etcd
if [ ! -x "$etcd" ]; then
	echo "1..0 # SKIP no etcd: ./run test unpacks that of Debian's package etcd-server"
	exit 0
fi
dir=$(mktemp -d /dev/shm/glock-etcd-XXXXXX)
keeper=
clean() {
	touch "$dir/down"
	[ -z "$keeper" ] || kill "$keeper" 2>/dev/null || :
	[ ! -s "$dir/pid" ] || kill -KILL "$(cat "$dir/pid")" 2>/dev/null || :
	wait
	rm -rf "$dir"
}
trap clean EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# shellcheck disable=SC2046
set -- $(python3 -c '
import socket
s = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
print(*(x.getsockname()[1] for x in s))') "$@"
url=http://127.0.0.1:$1
peer=http://127.0.0.1:$2
shift 2

# Starts etcd, and again whenever it has ended and there is no file `down`.
keep() {
	while :; do
		"$etcd" --name test --data-dir "$dir/data" --listen-client-urls "$url" \
			--advertise-client-urls "$url" --listen-peer-urls "$peer" \
			--initial-advertise-peer-urls "$peer" --initial-cluster "test=$peer" >"$dir/log" 2>&1 &
		echo $! >"$dir/pid"
		wait $! || :
		while [ -e "$dir/down" ]; do sleep 0.1; done
	done
}
keep &
keeper=$!
export GLOCK_ETCD="$url" GLOCK_PLUGINS="$plugins" GLOCK_DIR="$dir/spaces" ETCD_DIR="$dir"
mkdir "$dir/spaces"
"$@"
