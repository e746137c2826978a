#!/bin/sh
# with_etcd.sh - runs a command beside an etcd, which ends with the command.
#
# Usage: [ETCD_MEMBERS=3] [ETCD_TLS=1] with_etcd.sh PLUGINS COMMAND... The data is in memory. If a test
# kills a member, whose number is in $ETCD_DIR/pid1 and so on, the member starts again as soon as there
# is no file $ETCD_DIR/down. With ETCD_TLS the members want a certificate of each client, and tokens of
# users end after 2 seconds. Without etcd, the script says why and skips the test.
set -eu

plugins=$1
shift
etcd=${ETCD:-$(command -v etcd || :)}
[ -x "$etcd" ] || etcd=$(dirname "$0")/../../build-tools/usr/bin/etcd
if [ ! -x "$etcd" ]; then
	echo "1..0 # SKIP no etcd: ./run test unpacks that of Debian's package etcd-server"
	exit 0
fi
members=${ETCD_MEMBERS:-1}
dir=$(mktemp -d /dev/shm/glock-etcd-XXXXXX)
keepers=
clean() {
	touch "$dir/down"
	# shellcheck disable=SC2086
	[ -z "$keepers" ] || kill $keepers 2>/dev/null || :
	for i in $(seq "$members"); do
		[ ! -s "$dir/pid$i" ] || kill -KILL "$(cat "$dir/pid$i")" 2>/dev/null || :
	done
	wait
	rm -rf "$dir"
}
trap clean EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

scheme=http
tls=
# The gateway of a member is a client, too, with the member's certificate.
certify() { # certify NAME: makes $dir/NAME.pem and its key
	openssl req -newkey rsa:2048 -nodes -keyout "$dir/$1.key" -subj "/CN=" -out "$dir/$1.csr"
	printf '%s\n' subjectAltName=IP:127.0.0.1 extendedKeyUsage=serverAuth,clientAuth >"$dir/$1.ext"
	openssl x509 -req -in "$dir/$1.csr" -CA "$dir/ca.pem" -CAkey "$dir/ca.key" -CAcreateserial \
		-extfile "$dir/$1.ext" -out "$dir/$1.pem"
}
if [ -n "${ETCD_TLS-}" ]; then
	scheme=https
	{
		openssl req -x509 -newkey rsa:2048 -nodes -keyout "$dir/ca.key" -subj /CN=ca -out "$dir/ca.pem"
		certify member
		certify client
		openssl rsa -in "$dir/member.key" -pubout -out "$dir/member.pub"
	} 2>"$dir/openssl" || {
		cat "$dir/openssl" >&2
		exit 1
	}
	tls="--client-cert-auth --trusted-ca-file $dir/ca.pem --cert-file $dir/member.pem --key-file $dir/member.key
		--auth-token jwt,pub-key=$dir/member.pub,priv-key=$dir/member.key,sign-method=RS256,ttl=2s --bcrypt-cost 4"
	export ETCDCTL_CACERT="$dir/ca.pem" ETCDCTL_CERT="$dir/client.pem" ETCDCTL_KEY="$dir/client.key"
fi

# Starts a member, and again whenever it has ended and there is no file `down`.
keep() { # keep MEMBER CLIENT_PORT PEER_PORT
	while :; do
		# shellcheck disable=SC2086
		"$etcd" --name "$1" --data-dir "$dir/data$1" --listen-client-urls "$scheme://127.0.0.1:$2" \
			--advertise-client-urls "$scheme://127.0.0.1:$2" --listen-peer-urls "http://127.0.0.1:$3" \
			--initial-advertise-peer-urls "http://127.0.0.1:$3" --initial-cluster "$cluster" $tls \
			>>"$dir/log$1" 2>&1 &
		echo $! >"$dir/pid$1"
		wait $! || :
		while [ -e "$dir/down" ]; do sleep 0.1; done
	done
}

python3 -c '
import socket, sys
s = [socket.create_server(("127.0.0.1", 0)) for _ in range(2 * int(sys.argv[1]))]
for i in range(0, len(s), 2):
    print(1 + i // 2, s[i].getsockname()[1], s[i + 1].getsockname()[1])' "$members" >"$dir/ports"
cluster=
urls=
while read -r i client peer; do
	cluster=$cluster${cluster:+,}$i=http://127.0.0.1:$peer
	urls=$urls${urls:+,}$scheme://127.0.0.1:$client
done <"$dir/ports"
while read -r i client peer; do
	keep "$i" "$client" "$peer" </dev/null &
	keepers="$keepers $!"
done <"$dir/ports"
export GLOCK_ETCD="$urls" GLOCK_PLUGINS="$plugins" GLOCK_DIR="$dir/spaces" ETCD_DIR="$dir"
mkdir "$dir/spaces"
"$@"
