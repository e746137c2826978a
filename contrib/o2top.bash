# o2top.bash - bash completion for o2top(1).

_o2top()
{
	local cur prev words cword
	local columns='lost share trend waiting age mean longest acquired hit writers readers size fs'
	local keys='lost waiting age mean longest acquired hit writers readers size inode name'
	local types='META RW OPEN FLOCK PLOCK DENTRY SUPER RENAME QUOTA NFSSYNC INODE RGRP IOPEN'

	COMPREPLY=()
	cur=${COMP_WORDS[COMP_CWORD]}
	prev=${COMP_WORDS[COMP_CWORD - 1]}
	# --name=value arrives as three words
	if [[ $cur == = ]]; then
		cur=
	elif [[ $prev == = ]]; then
		prev=${COMP_WORDS[COMP_CWORD - 2]}
	fi

	case $prev in
	-s | --sort)
		mapfile -t COMPREPLY < <(compgen -W "$keys help" -- "$cur")
		return
		;;
	--columns)
		local done=
		[[ $cur != *,* ]] || done=${cur%,*},
		mapfile -t COMPREPLY < <(compgen -P "$done" -W "$columns" -- "${cur##*,}")
		compopt -o nospace 2>/dev/null
		return
		;;
	--paths)
		mapfile -t COMPREPLY < <(compgen -W "none cached full" -- "$cur")
		return
		;;
	--fs)
		mapfile -t COMPREPLY < <(compgen -W "ocfs2 gfs2 glock" -- "$cur")
		return
		;;
	--type)
		mapfile -t COMPREPLY < <(compgen -W "$types" -- "$cur")
		return
		;;
	--warn | --crit)
		mapfile -t COMPREPLY < <(compgen -W "lost= oldest= silent=" -- "$cur")
		compopt -o nospace 2>/dev/null
		return
		;;
	-n | --node)
		mapfile -t COMPREPLY < <(compgen -A hostname -- "$cur")
		return
		;;
	--debugfs | --sysfs | --configfs)
		mapfile -t COMPREPLY < <(compgen -d -- "$cur")
		return
		;;
	--names | --record | --replay | --textfile | --config | -o | --log | --mountinfo | --corosync)
		compopt -o filenames 2>/dev/null
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		return
		;;
	--ssh)
		mapfile -t COMPREPLY < <(compgen -c -- "$cur")
		return
		;;
	-t | --interval | -i | --iterations | -l | --length | --inode | --writers | --min-lost | --from | --to | --speed | \
		--sample-limit | --answer-limit | --record-size | --record-keep)
		return
		;;
	esac

	if [[ $cur == -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W '--answer-limit --ascii --batch --by-dir --check --collect --collect-script --columns --config --configfs --corosync --crit
			--csv --csv-raw --debug --debugfs --demo --details --from --fs --help --hot --inode --interval --iterations --json
			--length --local --log --min-lost --mountinfo --names --no-agent --no-color --no-config --no-mouse
			--no-system --node --once --openmetrics --paths --read-only --record --record-keep --record-size --recording --replay --sample-limit
			--sort --speed --ssh --summary --sysfs --textfile --to --touch-nothing --trace --type --version --warn --writers' -- "$cur")
		return
	fi
	compopt -o filenames 2>/dev/null
	mapfile -t COMPREPLY < <(compgen -f -- "$cur")
}
complete -F _o2top o2top
