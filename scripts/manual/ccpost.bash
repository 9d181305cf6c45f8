# bash completion for ccpost(1). Made from the grammar by go test -update.

_ccpost_names() {
	ccpost list --json </dev/null 2>/dev/null | LC_ALL=C awk '{
	while (match($0, /[{]"name":"([^"\\]|\\["\\])+","status":/)) {
		json = substr($0, RSTART + 9, RLENGTH - 20)
		$0 = substr($0, RSTART + RLENGTH)
		name = ""
		for (i = 1; i <= length(json); i++) {
			if (substr(json, i, 1) == "\\") i++
			name = name substr(json, i, 1)
		}
		if (name ~ /^[-\/@\\~]|^(uds|dir|name|id|pid):|^self$/) name = "name:" name
		print name
	}
}'
}

# Sessions, quoted for the place that they stand in.
_ccpost_who() {
	local typed=$1 quote= name word
	case $typed in
	\"* | \'*) quote=${typed:0:1} typed=${typed:1} ;;
	esac
	while IFS= read -r name; do
		word=$name
		case $quote in
		\') [[ $name == *\'* ]] && continue ;;
		\") [[ $name == *[\"\\\$\`\!]* ]] && continue ;;
		*)
			printf -v word %q "$name"
			# Readline would begin a word behind these.
			if [[ $word != \$* ]]; then
				word=${word//:/\\:} word=${word//=/\\=} word=${word//@/\\@}
			fi
			;;
		esac
		if [[ $word == "$typed"* || $name == "$typed"* ]]; then
			COMPREPLY+=("$word")
		fi
	done < <(printf 'self\n'; _ccpost_names)
}

_ccpost_dirs() {
	local dir
	compopt -o filenames 2>/dev/null
	while IFS= read -r dir; do
		COMPREPLY+=("$dir")
	done < <(compgen -d -- "$1")
}

_ccpost() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} flags= valued= words= start=0 IFS=$' \t\n'
	COMPREPLY=()
	if ((COMP_CWORD == 1)); then
		COMPREPLY=($(compgen -W 'send hook run list check policy rename listen demo version help --help -h' -- "$cur"))
		return
	fi
	case ${COMP_WORDS[1]} in
	send) flags='--help -h --to --config-dir --all --as --wait --timeout --priority --dry-run --if-present --verbose -v --raw --quiet -q --json' valued=' --to --config-dir --as --wait --timeout --priority ' ;;
	hook) flags='--help -h --to --config-dir --all --as --wait --timeout --priority --dry-run --if-present --verbose -v --text --allow-self --allow-chain --best-effort --snippet' valued=' --to --config-dir --as --wait --timeout --priority --text --snippet ' ;;
	run) flags='--help -h --to --config-dir --all --as --wait --timeout --priority --dry-run --if-present --verbose -v --on --label --tail --max-bytes --require-post --quiet -q' valued=' --to --config-dir --as --wait --timeout --priority --on --label --tail --max-bytes ' start=2 ;;
	list) flags='--help -h --config-dir --verbose -v --json' valued=' --config-dir ' ;;
	check) flags='--help -h --to --config-dir --all --connect --timeout --quiet -q --json' valued=' --to --config-dir --timeout ' ;;
	policy) flags='--help -h --dir --config-dir --if-revision --quiet -q --json' valued=' --dir --config-dir --if-revision ' words='show accept hold refuse unset' ;;
	rename) flags='--help -h --to --config-dir --all --timeout --if-present --verbose -v --quiet -q --json' valued=' --to --config-dir --timeout ' ;;
	listen) flags='--help -h --name --behave' valued=' --name --behave ' start=2 ;;
	demo) flags='--help -h' valued='  ' ;;
	version) flags='--help -h' valued='  ' ;;
	help) flags='--help -h' valued='  ' words='exit-codes send hook run list check policy rename listen demo version help' ;;
	*) return ;;
	esac
	# The = of --flag=value is a word of its own.
	if [[ $cur == = ]]; then
		cur=
	elif [[ $prev == = ]]; then
		prev=${COMP_WORDS[COMP_CWORD-2]}
	fi
	# Behind its own flags, run and listen take another command line.
	if ((start)); then
		while ((start < COMP_CWORD)); do
			case ${COMP_WORDS[start]} in
			--)
				((start++))
				break
				;;
			-*)
				if [[ ${COMP_WORDS[start+1]} == = ]]; then
					((start += 3))
				elif [[ $valued == *" ${COMP_WORDS[start]} "* ]]; then
					((start += 2))
				else
					((start++))
				fi
				;;
			*) break ;;
			esac
		done
		if ((start < COMP_CWORD)); then
			declare -F _command_offset >/dev/null && _command_offset "$start"
			return
		elif ((start == COMP_CWORD)) && [[ $cur != -* || ${COMP_WORDS[start-1]} == -- ]]; then
			COMPREPLY=($(compgen -c -- "$cur"))
			return
		fi
	fi
	case $prev in
	--behave) COMPREPLY=($(compgen -W 'accept hold refuse drop auth-required close-early stop-reading never-close wrong-session close-unread shut-unread' -- "$cur")); return ;;
	--config-dir) _ccpost_dirs "$cur"; return ;;
	--dir) _ccpost_dirs "$cur"; return ;;
	--on) COMPREPLY=($(compgen -W 'failure success always' -- "$cur")); return ;;
	--priority) COMPREPLY=($(compgen -W 'next later now' -- "$cur")); return ;;
	--snippet) COMPREPLY=($(compgen -W 'ConfigChange CwdChanged DirectoryAdded Elicitation ElicitationResult FileChanged Notification PermissionDenied PermissionRequest PostCompact PostToolBatch PostToolUse PostToolUseFailure PreCompact PreToolUse SessionEnd SessionStart Stop StopFailure SubagentStart SubagentStop TaskCompleted TaskCreated TeammateIdle UserPromptSubmit WorktreeRemove' -- "$cur")); return ;;
	--to) _ccpost_who "$cur"; return ;;
	esac
	if [[ $valued == *" $prev "* ]]; then
		return
	fi
	if [[ $cur == -* ]]; then
		words=$flags
	fi
	COMPREPLY=($(compgen -W "$words" -- "$cur"))
}

complete -o default -F _ccpost ccpost
