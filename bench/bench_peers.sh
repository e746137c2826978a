#!/bin/sh
# bench_peers.sh - measures a glock beside a lock of Redis, etcd and ZooKeeper.
#
# A glock of lock manager etcd stands beside etcd's own lock, with one and with three members.
# Usage: bench_peers.sh BUILD_DIR. The script starts the three on loopback, at free ports. Their
# data is in a folder in memory, so that no disk slows them. Servers and data end with the script.
# The script prints a table and writes BUILD_DIR/bench_peers.tsv.
set -eu

build=${1:?usage: bench_peers.sh BUILD_DIR}
dir=$(mktemp -d /dev/shm/glock-bench-XXXXXX)
servers=
clean() {
	# shellcheck disable=SC2086
	[ -z "$servers" ] || kill $servers 2>/dev/null || :
	wait
	rm -rf "$dir"
}
trap clean EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

ninja -C "$build" bench/bench_peers bench/bench_etcd src/lockman/libglock-etcd.so >&2

# serve NAME COMMAND...: in the background, in a folder of its own
serve() {
	mkdir "$dir/$1"
	name=$1
	shift
	(cd "$dir/$name" && exec "$@") >"$dir/$name.log" 2>&1 &
	servers="$servers $!"
}

# shellcheck disable=SC2046
set -- $(python3 -c '
import socket
s = [socket.create_server(("127.0.0.1", 0)) for _ in range(4)]
print(*(x.getsockname()[1] for x in s))')
serve redis redis-server --bind 127.0.0.1 --port "$1" --save "" --appendonly no --daemonize no
serve etcd etcd --name bench --data-dir data \
	--listen-client-urls "http://127.0.0.1:$2" --advertise-client-urls "http://127.0.0.1:$2" \
	--listen-peer-urls "http://127.0.0.1:$4" --initial-advertise-peer-urls "http://127.0.0.1:$4" \
	--initial-cluster "bench=http://127.0.0.1:$4"
printf 'tickTime=2000\ndataDir=%s\nclientPort=%s\nclientPortAddress=127.0.0.1\nadmin.enableServer=false\n' \
	"$dir/zookeeper" "$3" >"$dir/zoo.cfg"
serve zookeeper java -XX:-UsePerfData -cp /usr/share/java/zookeeper.jar \
	org.apache.zookeeper.server.quorum.QuorumPeerMain "$dir/zoo.cfg"
GLOCK_DIR=$dir GLOCK_LOCKMAN=local "$build/bench/bench_peers" "$1" "http://127.0.0.1:$2" "$3" >"$build/bench_peers.tsv" || {
	status=$?
	tail -n 5 "$dir"/*.log >&2
	exit $status
}
echo "$(date +%F), Linux $(uname -r), $(nproc) CPUs, load: $(cut -d' ' -f1-3 /proc/loadavg)"
for members in 1 3; do
	ETCD_MEMBERS=$members GLOCK_LOCKMAN=etcd sh tests/etcd/with_etcd.sh "$build/src/lockman" "$build/bench/bench_etcd" \
		>>"$build/bench_peers.tsv"
done
awk -f bench/table.awk "$build/bench_peers.tsv"
