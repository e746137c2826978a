# node.sh - runs in a node's sh and prints the kernel's files, each between two stamps, on request.
#
# The script comes over the shell's standard input, behind a line N=... with a random number. Every
# line of the protocol begins with this number. So no file can pass for such a line, because its
# author cannot guess the number. Requests are lines on standard input and are data: the script
# never evaluates any part of them. The script only reads, except for an instance in tracefs where
# it is asked to trace. The script ends with its input.
#
#	S FIRST WHAT [SPACE]...   a sample of these lock spaces; WHAT is all, or deep, with
#	                          the DLM's dumps; +ask is for agents; +trace adds a trace of
#	                          GFS2's requests
#	D FIRST WHAT [SPACE]...   the DLM's dumps and the tasks that sleep
#	P SPACE INODES MOUNT      paths
#
# FIRST is the size of the first read of locking_state. The size matters, because the kernel loses
# the line at each boundary between reads.
D=${O2TOP_DEBUGFS:-/sys/kernel/debug} C=${O2TOP_CONFIGFS:-/sys/kernel/config} S=${O2TOP_SYSFS:-/sys} P=${O2TOP_PROC:-/proc}

stamp() {
	up=0
	read -r up _ 2>/dev/null <"$P/uptime"
	now="$(date +%s.%N) $up"
}

# begin KIND SPACE: prints the stamp of the end of the file before. It is taken only once for both
# files, because each stamp costs time on a busy node.
begin() {
	printf '%s F %s %s %s\n' "$N" "$1" "$now" "$2"
}

end() {
	stamp
	printf '\n%s E %s %s %s\n' "$N" "$1" "$now" "$2"
}

# give KIND SPACE FILE [FIRST]: prints a file as it is, or the reason why it cannot be read.
give() {
	[ -e "$3" ] || return 0
	begin "$1" "$2"
	if [ "${4:-0}" -gt 0 ]; then
		{ { dd bs="$4" count=1 2>/dev/null && cat; } <"$3"; } 2>/dev/null
	else
		{ cat <"$3"; } 2>/dev/null
	fi
	status=$? why=
	[ "$status" = 0 ] || why=$({ cat <"$3" >/dev/null; } 2>&1)
	end "$status" "${why%%
*}"
}

mounts() {
	[ -r "$P/self/mountinfo" ] || return 0
	begin mountinfo ''
	while read -r line; do
		case $line in
		*' - ocfs2 '* | *' - gfs2 '*)
			printf '%s\n' "$line"
			of=${line#* * }
			of=${of%% *}
			of=$(printf '%02x:%02x' "${of%:*}" "${of#*:}")
			devices=${devices:+$devices|}$of
			case $line in *' - ocfs2 '*) ocfs2=${ocfs2:+$ocfs2|}$of ;; esac
			;;
		esac
	done <"$P/self/mountinfo"
	end 0 ''
}

# Prints flocks on both file systems, and fcntl locks on OCFS2: the line of /proc/locks without its
# number, and the process's name.
plocks() {
	[ -n "$devices" ] && [ -r "$P/locks" ] || return 0
	begin plocks ''
	of="FLOCK +ADVISORY .* ($devices)${ocfs2:+|(POSIX|OFDLCK) +ADVISORY .* ($ocfs2)}"
	grep -E "^[0-9]+: ($of):[0-9]+ " "$P/locks" |
		while read -r _ class kind mode pid file from to; do
			if [ "$pid" != "$of" ]; then
				of=$pid comm=
				read -r comm 2>/dev/null <"$P/$pid/comm"
			fi
			printf '%s\n' "$class $kind $mode $pid $file $from $to${comm:+ $comm}"
		done
	end 0 ''
}

# Prints the numbers by which the DLMs know the nodes: o2cb NUMBER LOCAL NAME, dlm NUMBER LOCAL.
ids() {
	begin ids ''
	for f in "$C"/cluster/*/node/*/local; do
		[ -r "$f" ] && read -r here <"$f" && read -r number <"${f%local}num" || continue
		name=${f%/local}
		printf 'o2cb %s %s %s\n' "$number" "$here" "${name##*/}"
	done
	for f in "$C"/dlm/cluster/comms/*/local; do
		[ -r "$f" ] && read -r here <"$f" && read -r number <"${f%local}nodeid" || continue
		[ "$here" != 1 ] || own=$number
		printf 'dlm %s %s\n' "$number" "$here"
	done
	end 0 ''
}

# number_of TASK: prints the inode of the file for which the task's system call waits. It is known
# only if the call's first argument is a descriptor.
number_of() {
	read -r _ argument _ 2>/dev/null <"$1/syscall"
	case $argument in
	0x[0-9a-f] | 0x[0-9a-f][0-9a-f] | 0x[0-9a-f][0-9a-f][0-9a-f])
		grep -s '^ino:' "$1/fdinfo/$((argument))"
		;;
	esac
}

# Removes the instances, named o2top-PID, of processes that are gone.
untrace_dead() {
	for i in "$T"/instances/o2top-*; do
		case ${i##*/o2top-} in
		*[!0-9]*) continue ;;
		esac
		read -r comm 2>/dev/null <"$P/${i##*-}/comm" || comm=
		case $comm in
		o2top | sh) ;;
		*) rmdir "$i" 2>/dev/null ;;
		esac
	done
}

# Makes an instance of this script's own, with the events of GFS2's requests to the DLM.
trace() {
	event=events/gfs2/gfs2_glock_lock_time/enable
	i=$T/instances/o2top-$$
	[ -z "$traced" ] || return 0
	if why=$({ [ -e "$T/$event" ] && mkdir "$i" && echo mono >"$i/trace_clock" &&
		echo 512 >"$i/buffer_size_kb" && echo 1 >"$i/$event"; } 2>&1); then
		traced=$i
		for event in gfs2_demote_rq gfs2_log_flush; do
			{ echo 1 >"$i/events/gfs2/$event/enable"; } 2>/dev/null
		done
	else
		rmdir "$i" 2>/dev/null
		begin trace ''
		end 1 "${why:-$T/$event: No such event}"
	fi
}

untrace() {
	[ -z "$traced" ] || rmdir "$traced" 2>/dev/null
	traced=
}

# Prints the tasks in uninterruptible sleep: their place in the kernel, and the file.
tasks() {
	begin tasks ''
	grep -ls '^State:.D' "$P"/[0-9]*/task/[0-9]*/status | while read -r f; do
		t=${f%/status}
		comm='' wchan=''
		read -r comm 2>/dev/null <"$t/comm"
		read -r wchan 2>/dev/null <"$t/wchan"
		g=${t#"$P"/}
		printf 'task %s %s %s %s\n' "${g%%/*}" "${t##*/}" "${wchan:-0}" "$comm"
		cat "$t/stack" 2>/dev/null
		number_of "$t"
	done
	end 0 ''
}

# paths SPACE INODE:...,... MOUNT_POINT: prints the paths of open files. The file system itself is
# not touched.
paths() {
	case $2 in
	*[!0-9:,]* | '') return 0 ;;
	esac
	begin paths ''
	# A process in a mount namespace of its own has any file at any path.
	mounts=$(sed -nE 's/^([0-9]+) .* - (ocfs2|gfs2) .*/\1/p' "$P/self/mountinfo" 2>/dev/null | tr '\n' ' ')
	any=$(printf '%s\n' "$2" | sed 's/:[0-9:]*//g; s/,/|/g')
	grep -lsE "^ino:[[:space:]]*($any)\$" "$P"/[0-9]*/fdinfo/* | while read -r f; do
		path=$(readlink "${f%/fdinfo/*}/fd/${f##*/}") || continue
		case $path in
		*'
'* | *' (deleted)') continue ;;
		"${3%/}"/*) ;;
		*) continue ;;
		esac
		number='' mount=''
		while read -r key value; do
			case $key in
			ino:) number=$value ;;
			mnt_id:) mount=$value ;;
			esac
		done 2>/dev/null <"$f"
		case " $mounts" in
		*" $mount "*) printf '%s %s 0 %s\n' "$1" "$number" "$path" ;;
		esac
	done | sort -u | head -n 100
	end 0 ''
}

wanted() {
	[ -n "$spaces" ] || return 0
	case " $spaces " in
	*" $1 "*) return 0 ;;
	esac
	return 1
}

# dlm_plocks SPACE: prints the fcntl locks that dlm_controld keeps, and the names of this node's
# processes in them, at most for 2 % of the time. dlm_controld lists at most 1 MiB of locks.
dlm_plocks() {
	[ -e "$D/dlm/${1#*:}_all" ] && [ "${up%.*}${up#*.}" -ge "$plocks_at" ] || return 0
	command -v dlm_tool >/dev/null || return 0
	began=${up%.*}${up#*.} status=0
	begin dlm_plocks "$1"
	list=$(timeout 2 dlm_tool plocks "${1#*:}" 2>/dev/null) || status=$?
	[ -z "$list" ] || printf '%s\n' "$list"
	files=$(printf '%s\n' "$list" | sed -n 's/^\([0-9]*\) .* WAITING$/\1/p' | sort -u | head -n 64 | tr '\n' '|')
	[ -z "$files" ] || printf '%s\n' "$list" | grep -E "^(${files%|}) .* nodeid ${own:-0} " |
		sed 's/.* pid \([0-9]*\) .*/\1/' | sort -u | head -n 64 | while read -r pid; do
		read -r comm 2>/dev/null <"$P/$pid/comm" && printf 'comm %s %s\n' "$pid" "$comm"
	done
	end "$status" 'dlm_tool plocks failed'
	next=$((${up%.*}${up#*.} + 49 * (${up%.*}${up#*.} - began)))
}

dumps() {
	give dlm_all "$1" "$D/dlm/${1#*:}_all"
	give o2dlm "$1" "$D/o2dlm/$1/locking_state"
}

each() {
	for d in "$D/$1"/*/; do
		s=${d%/}
		s=${s##*/}
		[ -d "$d" ] && wanted "$s" && "$2" "$s" "${d%/}"
	done
}

ocfs2() {
	give fs_state "$1" "$2/fs_state"
	give locking_filter "$1" "$2/locking_filter"
	give o2dlm_state "$1" "$D/o2dlm/$1/dlm_state"
	give locking_state "$1" "$2/locking_state" "$first"
	dlm_plocks "$1"
}

# condition SPACE: prints what GFS2 and the DLM tell in sysfs, with a name and a value on each line.
condition() {
	begin condition "$1"
	for f in withdraw freeze lock_module/block id; do
		value=
		[ -r "$S/fs/gfs2/$1/$f" ] && read -r value <"$S/fs/gfs2/$1/$f"
		[ -z "$value" ] || printf '%s %s\n' "${f##*/}" "$value"
	done
	f=$S/kernel/dlm/${1#*:}/recover_status
	value=
	[ -r "$f" ] && read -r value <"$f"
	[ -z "$value" ] || printf 'recover_status %s\n' "$value"
	end 0 ''
}

# flock_totals SPACE FILE: prints the totals of all flocks; the other lines of sbstats serve nothing.
flock_totals() {
	[ -r "$2" ] || return 0
	begin sbstats "$1"
	{ grep -E '^flock +(srttb|dlm|queue):' <"$2" | tr -s ' '; } 2>/dev/null
	end 0 ''
}

gfs2() {
	condition "$1"
	give gfs2_id "$1" "$S/fs/gfs2/$1/id"
	give glstats "$1" "$2/glstats"
	give glocks "$1" "$2/glocks"
	flock_totals "$1" "$2/sbstats"
	dlm_plocks "$1"
}

state() {
	if [ ! -e "$D/." ]; then
		if [ -e "$D" ]; then echo permission; else echo nodebugfs; fi
	elif [ ! -r "$D" ] || [ ! -x "$D" ]; then
		echo permission
	else
		echo ok
	fi
}

answer() {
	stamp
	printf '%s S %s %s %s\n' "$N" "$request" "$now" "$(state)"
	if [ "$request" = P ]; then
		paths "$first" "$what" "$spaces"
	elif [ "$request" = S ]; then
		devices= ocfs2=
		mounts
		ids
		case $what in
		*+trace) trace ;;
		esac
		give lockdown '' "$S/kernel/security/lockdown"
		each gfs2 gfs2
		each ocfs2 ocfs2
		plocks_at=$next
		[ -z "$traced" ] || give trace '' "$traced/trace"
		plocks
	fi
	case $request$what in
	D* | Sdeep*)
		each ocfs2 dumps
		each gfs2 dumps
		tasks
		;;
	esac
	stamp
	printf '%s Z %s\n' "$N" "$now"
}

clocks() {
	stamp
	while read -r a b c _; do
		[ "$a $b" = 'now at' ] || continue
		printf '%s C %s %s\n' "$N" "$up" "$c"
		break
	done <"$P/timer_list"
}

main() {
	PATH=$PATH:/usr/sbin:/sbin
	traced='' plocks_at=0 next=0 own=0
	T=${O2TOP_TRACING:-/sys/kernel/tracing}
	[ -d "$T/instances" ] || T=$D/tracing
	untrace_dead
	trap untrace EXIT
	trap 'exit 1' HUP INT TERM PIPE
	set -f
	[ -r "$P/timer_list" ] && clocks
	printf '%s R\n' "$N"
	while read -r request first what spaces; do
		case $request in
		S | D | P) set +f; answer; set -f ;;
		esac
	done
	exit 0
}

main
