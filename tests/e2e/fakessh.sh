#!/bin/sh
# fakessh.sh - stands for ssh: gives a recorded node's files, the next sample for each request.
#
# Usage: fakessh.sh NODE sh. $O2TOP_FAKE holds:
#	NODE.mode      the node's behaviour today; without the file it works
#	NODE.samples   the recording's samples, one a line; the last one stays
#	pids           the process groups that were started
#	NODE.looked    the paths that the node was asked for
#	NODE.asked     all requests
# $O2TOP_CAPTURE is the recording.
node=$1
shift
# the process group, because o2top has a shell start this script
read -r _ _ _ _ group _ <"/proc/$$/stat"
echo "$group" >>"$O2TOP_FAKE/pids"
mode=
[ ! -r "$O2TOP_FAKE/$node.mode" ] || read -r mode <"$O2TOP_FAKE/$node.mode"
export O2TOP_FAKE
own=$O2TOP_FAKE/$node
mkdir -p "$own"

serve() {
	while IFS= read -r line; do
		printf '%s\n' "$line" >>"$O2TOP_FAKE/$node.asked"
		case $line in
		'P '*) printf '%s\n' "$line" >>"$O2TOP_FAKE/$node.looked" ;;
		'S '[0-9]*)
			samples=$(cat "$O2TOP_FAKE/$node.samples")
			ln -sfn "$O2TOP_CAPTURE/${samples%%
*}/$node" "$own/root"
			case $samples in
			*"
"*)
				printf '%s\n' "${samples#*
}" >"$O2TOP_FAKE/$node.samples"
				;;
			esac
			[ "$mode" != dies ] || [ ! -e "$own/asked" ] || exit 0
			if [ "$mode" = once ] && [ -e "$own/asked" ]; then
				rm "$own/asked"
				exit 0
			fi
			# late: each sample but the first comes after its frame
			[ "$mode" != late ] || [ ! -e "$own/asked" ] || sleep 1.4
			# loaded: each sample takes long, and silent: only the first one comes
			[ "$mode" != loaded ] || sleep 2
			[ "$mode" != silent ] || [ ! -e "$own/asked" ] || sleep 60
			: >"$own/asked"
			[ ! -d "$own/proc" ] || [ "${mode#worn}" != "$mode" ] || cp "$own/root/uptime" "$own/root/realtime" "$own/proc/"
			;;
		esac
		printf '%s\n' "$line"
	done
}

greeted() {
	IFS= read -r line
	N=${line#N=}
	echo "$N plain"
	while IFS= read -r line && [ "$line" != main ]; do :; done
	echo "$N R"
	IFS= read -r line
}

export O2TOP_DEBUGFS="$own/root" O2TOP_CONFIGFS="$own/config" O2TOP_SYSFS="$own/sys" O2TOP_PROC="$own/root"
export O2TOP_TRACING="$own/tracing"
mkdir -p "$own/bin"
# the time is that of the recording
printf '#!/bin/sh\nexec cat "%s/root/realtime"\n' "$own" >"$own/bin/date"
chmod +x "$own/bin/date"
PATH=$own/bin:$PATH
# dies: its power is cut after the first sample
[ "$mode" != dies ] || [ ! -e "$own/asked" ] || mode=refused
case $mode in
refused)
	echo "ssh: connect to host $node port 22: Connection refused" >&2
	exit 255
	;;
mute)
	exec sleep 1000
	;;
noise)
	echo "Welcome to $node, where N=1 R and S mean nothing"
	echo "a motd" >&2
	serve | "$@"
	;;
garbage)
	greeted
	head -c 3000 /dev/urandom
	exec sleep 1000
	;;
forged)
	greeted
	echo "N E 0 1 1"
	exec sleep 1000
	;;
endless)
	greeted
	printf '%s S S 1.0 1.0 ok\n%s F glocks 1.0 1.0 x\n' "$N" "$N"
	exec cat /dev/zero
	;;
evil)
	printf 'ssh: \033]0;EVIL\007\033[2JEVIL\033[1;1HEVIL\23331mEVIL\177 no route\n' >&2
	exit 255
	;;
drop)
	greeted
	printf '%s S S 1.0 1.0 ok\n%s F glocks 1.0 1.0 x\n' "$N" "$N"
	while printf x; do sleep 60; done
	;;
drip)
	greeted
	printf '%s S S 1.0 1.0 ok\n%s F glocks 1.0 1.0 x\n' "$N" "$N"
	while printf x; do sleep 1; done
	;;
wornslow)
	# a sample takes more than a second, by the node's own clock, too
	mkdir -p "$own/proc"
	echo 1000.00 >"$own/proc/uptime"
	{
		printf '#!/bin/sh\nsleep 0.16\nread -r up <"%s/proc/uptime"\n' "$own"
		printf 'up=$((${up%%%%.*}${up#*.} + 20))\n'
		printf 'echo "${up%%%%??}.${up#"${up%%%%??}"}" >"%s/proc/uptime"\n' "$own"
		printf 'exec cat "%s/root/realtime"\n' "$own"
	} >"$own/bin/date"
	O2TOP_PROC=$own/proc
	serve | "$@"
	;;
worn)
	# by the node's own clock, each stamp is half a second after the one before
	mkdir -p "$own/proc"
	echo 1000.0 >"$own/proc/uptime"
	printf '#!/bin/sh\nread -r up <"%s/proc/uptime"\nup=${up%%%%.*}${up#*.}\nup=$((up + 5))\n' "$own" >"$own/bin/date"
	printf 'echo "${up%%%%?}.${up#"${up%%%%?}"}" >"%s/proc/uptime"\nexec cat "%s/root/realtime"\n' "$own" "$own" >>"$own/bin/date"
	O2TOP_PROC=$own/proc
	serve | "$@"
	;;
slow)
	printf '#!/bin/sh\nsleep 0.15\nexec cat "%s/root/realtime"\n' "$own" >"$own/bin/date"
	serve | "$@"
	;;
hung)
	# a read of a kernel file that never returns
	printf '#!/bin/sh\ncase $(readlink /proc/self/fd/0) in *locking_state) [ ! -e "%s/second" ] || exec sleep 1000; : >"%s/second" ;; esac\nexec /bin/cat "$@"\n' "$own" "$own" >"$own/bin/cat"
	chmod +x "$own/bin/cat"
	serve | "$@"
	;;
lockdown)
	mkdir -p "$own/sys/kernel/security"
	echo 'none [integrity] confidentiality' >"$own/sys/kernel/security/lockdown"
	printf '#!/bin/sh\ncase $(readlink /proc/self/fd/0) in *locking_state | *glstats) echo "cat: -: Operation not permitted" >&2; exit 1 ;; esac\nexec /bin/cat "$@"\n' >"$own/bin/cat"
	chmod +x "$own/bin/cat"
	serve | "$@"
	;;
nodebugfs)
	O2TOP_DEBUGFS=$own/nothing serve | O2TOP_DEBUGFS=$own/nothing "$@"
	;;
paths | agentpaths | late)
	# a process with two open files: one of this file system, one of another with the same
	# number
	mkdir -p "$own/proc/7/fdinfo" "$own/proc/7/fd" "$own/proc/self"
	printf 'pos:\t0\nmnt_id:\t90\nino:\t32264\n' >"$own/proc/7/fdinfo/3"
	ln -sfn '/mnt/o2/a log' "$own/proc/7/fd/3"
	printf 'pos:\t0\nmnt_id:\t8\nino:\t32264\n' >"$own/proc/7/fdinfo/2"
	ln -sfn /etc/motd "$own/proc/7/fd/2"
	echo '90 28 254:16 / /mnt/o2 rw,relatime shared:9 - ocfs2 /dev/vdb rw,_netdev' >"$own/proc/self/mountinfo"
	[ ! -r "$own/mounts" ] || cat "$own/mounts" >>"$own/proc/self/mountinfo"
	O2TOP_PROC=$own/proc
	[ "$mode" = paths ] || PATH=${O2TOP%/*}:$PATH
	serve | "$@"
	;;
agent)
	PATH=${O2TOP%/*}:$PATH
	serve | "$@"
	;;
*)
	serve | "$@"
	;;
esac
