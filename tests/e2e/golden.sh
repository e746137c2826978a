#!/bin/sh
# golden.sh - tests frames of each recording as text against tests/golden.
#
# Usage: golden.sh [--update]. The output is TAP. O2TOP, O2TOP_CAPTURES and O2TOP_DATA are the paths
# that meson test sets.
set -u
. "$(dirname "$0")/../same.sh"
data=$O2TOP_DATA
golden=$data/../golden
cd "$O2TOP_CAPTURES" || exit 99
LC_ALL=C.UTF-8 TZ=UTC
export LC_ALL TZ
unset COLUMNS NO_COLOR

check() { # check NAME ARGS...
	name=$1
	shift
	same "$name" "$O2TOP" "$@"
}

check ocfs2-hot --names "$data/ocfs2-hot.names" ocfs2-hot
check ocfs2-hang --names "$data/ocfs2-hang.names" --details ocfs2-hang
check gfs2-hot --names "$data/gfs2-hot.names" -l 5 gfs2-hot
check gfs2-hang --names "$data/gfs2-hang.names" --details gfs2-hang
check mail-ocfs2 --names "$data/mail-ocfs2.names" -l 5 mail-ocfs2
check mail-gfs2 --names "$data/mail-gfs2.names" -l 5 mail-gfs2
check flock-ocfs2 -l 3 --details flock-ocfs2
check flock-gfs2 -l 3 --details flock-gfs2
check power-cut -l 4 power-cut
check ascii-one-sample --ascii --details gfs2-hang/t0
COLUMNS=80 check narrow --names "$data/ocfs2-hot.names" --hot ocfs2-hot
check system -d -l 1 ocfs2-hot
check compare ocfs2-hang/t1/node1/ocfs2/2AAE8B67B17D4F169DF133216A14ED3D/locking_state \
	ocfs2-hang/t2/node1/ocfs2/2AAE8B67B17D4F169DF133216A14ED3D/locking_state
check by-dir --by-dir --names "$data/ocfs2-hot.names" ocfs2-hot
check help --help
plan
