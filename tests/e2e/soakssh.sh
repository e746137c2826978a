#!/bin/sh
# soakssh.sh - runs fakessh.sh for a node that may have been another one before.
#
# Usage: soakssh.sh NODE sh. Each start adds its process group and its node to $O2TOP_FAKE/who.
rm -rf "${O2TOP_FAKE:?}/$1/bin" "$O2TOP_FAKE/$1/second" "$O2TOP_FAKE/$1/asked"
read -r _ _ _ _ group _ <"/proc/$$/stat"
echo "$group $1" >>"$O2TOP_FAKE/who"
exec "$(dirname "$0")/fakessh.sh" "$@"
