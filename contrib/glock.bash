# bash completion for glock(1)

_glock_spaces() {
	glock ls 2>/dev/null | awk 'NR > 1 { print $1 }' | sort -u
}

_glock_nodes() {
	glock ls "$1" 2>/dev/null | awk 'NR > 1 && $4 != "-" { print $4 }'
}

_glock() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]-}
	local i space= words=
	COMPREPLY=()

	if ((COMP_CWORD == 1)); then
		mapfile -t COMPREPLY < <(compgen -W 'run ls stat top trace demote rm bench version --help --version' -- "$cur")
		return
	fi
	# the first argument that is no option, nor the value of one
	for ((i = 2; i < COMP_CWORD; i++)); do
		case ${COMP_WORDS[i]} in
		-n | --node | -w | --wait | --timeout | -E | --conflict-exit-code | -t | --time | --format | --lockman)
			[[ $command == run && ${COMP_WORDS[i]} == -n ]] || ((i++))
			;;
		-*) ;;
		*)
			space=${COMP_WORDS[i]}
			break
			;;
		esac
	done
	case $prev in
	--lockman) words='local none dlm' ;;
	--format) words='6.1 7.0' ;;
	-n | --node)
		if [[ $command != run ]]; then
			# the space often comes behind
			words=$(for s in ${space:-$(_glock_spaces)}; do _glock_nodes "$s"; done)
		fi
		;;
	esac
	if [[ -n $words ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
		return
	fi
	if [[ $command == run && -n $space && $i -lt $((COMP_CWORD - 1)) ]]; then
		# behind SPACE NAME: a command line
		if declare -F _command_offset >/dev/null; then
			_command_offset $((i + 2))
		else
			mapfile -t COMPREPLY < <(compgen -c -- "$cur")
		fi
		return
	fi
	case $command in
	run) words='--shared --exclusive --wait --nonblock --conflict-exit-code --close --no-fork --verbose --lockman --version --help' ;;
	ls) words='--json --help' ;;
	stat)
		words='--node --json --ages --format --help'
		[[ -n $space ]] && words+=' glocks glstats sbstats lkstats'
		;;
	trace) words='--node --time --help' ;;
	demote) words='--node --help' ;;
	bench) words='--time --lockman --help' ;;
	top | rm) words='--help' ;;
	*) return ;;
	esac
	if [[ $command == demote && $i -eq $((COMP_CWORD - 2)) ]]; then
		words='EX DF SH'
	elif [[ -z $space || $command == rm ]]; then
		words+=" $(_glock_spaces)"
	fi
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
}

complete -F _glock glock
