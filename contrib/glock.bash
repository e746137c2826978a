# glock.bash - bash completion for glock(1).

# Prints the values of a key in the output of glock ls, one a line. Omits values with a quote or a
# backslash.
_glock_ls() { # _glock_ls KEY [SPACE]
	glock ls --json ${2:+-- "$2"} 2>/dev/null | sed -nE 's/^\{(.*,)?"'"$1"'":"([^"\\]*)".*/\2/p' | sort -u
}

# Offers the lines that begin with BEGINNING. Any user may have chosen these names. compgen -W would
# run commands in them, so this function does not use it.
_glock_offer() { # _glock_offer BEGINNING
	local word quoted
	while IFS= read -r word; do
		printf -v quoted %q "$word"
		[[ -n $word && ($word == "$1"* || $quoted == "$1"*) ]] && COMPREPLY+=("$quoted")
	done
}

_glock() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]-}
	local i space= words=
	COMPREPLY=()

	if ((COMP_CWORD == 1)); then
		mapfile -t COMPREPLY < <(compgen -W 'run hold who ls stat top trace demote rm bench sqlite version --help --version' -- "$cur")
		return
	fi
	# the first argument that is no option and no value of an option
	for ((i = 2; i < COMP_CWORD; i++)); do
		case ${COMP_WORDS[i]} in
		-n | --node | -w | --wait | --timeout | -E | --conflict-exit-code | --cached-exit-code | -t | --time | --format | --lockman | --group | --file | --pid)
			[[ ($command == run || $command == hold) && ${COMP_WORDS[i]} == -n ]] || ((i++))
			;;
		-*) ;;
		*)
			space=${COMP_WORDS[i]}
			break
			;;
		esac
	done
	case $prev in
	--lockman) words='local none dlm etcd' ;;
	--pid)
		mapfile -t COMPREPLY < <(compgen -W "$$" -- "$cur")
		return
		;;
	--group)
		mapfile -t COMPREPLY < <(compgen -g -- "$cur")
		return
		;;
	--file)
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		return
		;;
	--format) words='6.1 6.18 7.0' ;;
	-n | --node)
		if [[ $command != run && $command != hold ]]; then
			# the space often follows
			_glock_offer "$cur" < <(_glock_ls node "$space")
			return
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
	if [[ $command == who && $cur != -* ]]; then
		compopt -o filenames 2>/dev/null
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		return
	fi
	case $command in
	run) words='--file --shared --exclusive --wait --nonblock --conflict-exit-code --cached-exit-code --close --no-fork --verbose --group --lockman --version --help' ;;
	hold) words='--file --pid --print --release --shared --exclusive --wait --nonblock --conflict-exit-code --cached-exit-code --verbose --group --lockman --help' ;;
	ls) words='--json --lockman --help' ;;
	who) words='--json --help' ;;
	stat)
		words='--node --json --ages --format --histogram --hold --lockman --help'
		[[ -n $space ]] && words+=' glocks glstats sbstats lkstats'
		;;
	trace) words='--node --time --help' ;;
	demote) words='--node --lockman --help' ;;
	bench) words='--time --lockman --help' ;;
	rm) words='--lockman --help' ;;
	top) words='--help' ;;
	*) return ;;
	esac
	if [[ $command == demote && $i -eq $((COMP_CWORD - 2)) ]]; then
		words='EX DF SH'
	fi
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
	if [[ $words != 'EX DF SH' && (-z $space || $command == rm) ]]; then
		_glock_offer "$cur" < <(_glock_ls space)
	fi
}

complete -F _glock glock
