#!/bin/sh
# SPDX-License-Identifier: MIT
# test_absent.sh - tests glock on a machine without a cluster: the message names what is missing.
#
# Usage: test_absent.sh GLOCK. The output is TAP.
. "$(dirname "$0")/../tap.sh"
export GLOCK_LOCKMAN=dlm GLOCK="$1"

expect() { # WHAT WORD TEXT
	case $3 in
	*"status 0"*) result 1 "$1" ;;
	*"$2"*) result 0 "$1" ;;
	*)
		echo "# $3"
		result 1 "$1"
		;;
	esac
}

try='"$GLOCK" run -n glockmissing one -- true 2>&1; echo "status $?"'
library=$(find /lib /usr/lib -name libdlm_lt.so.3 2>/dev/null | head -n 1)
if [ -z "$library" ]; then
	expect "no libdlm" libdlm3 "$(sh -c "$try")"
elif unshare -m true 2>/dev/null; then
	# the library is hidden from this process
	expect "no libdlm" libdlm3 "$(unshare -m sh -c "mount --bind /dev/null $library; $try")"
else
	result 0 "no libdlm # SKIP needs mount"
fi
if [ -z "$library" ]; then
	result 0 "no DLM in the kernel # SKIP needs library libdlm_lt.so.3"
elif [ -e /sys/kernel/dlm ]; then
	result 0 "no DLM in the kernel # SKIP needs a kernel without dlm"
else
	expect "no DLM in the kernel" "modprobe dlm" "$(sh -c "$try")"
fi
plan
