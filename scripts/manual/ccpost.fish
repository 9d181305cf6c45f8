# fish completion for ccpost(1). Made from the grammar by go test -update.

function __ccpost_names
	ccpost list --json </dev/null 2>/dev/null | LC_ALL=C awk '{
	while (match($0, /[{]"name":"([^"\\\\]|\\\\["\\\\])+","status":/)) {
		json = substr($0, RSTART + 9, RLENGTH - 20)
		$0 = substr($0, RSTART + RLENGTH)
		name = ""
		for (i = 1; i <= length(json); i++) {
			if (substr(json, i, 1) == "\\\\") i++
			name = name substr(json, i, 1)
		}
		if (name ~ /^[-\\/@\\\\~]|^(uds|dir|name|id|pid):|^self$/) name = "name:" name
		print name
	}
}'
end

function __ccpost_is
	set -l words (commandline -opc)
	test (count $words) -gt 1; and test $words[2] = $argv[1]; and not contains -- -- $words
end

complete -c ccpost -f
complete -c ccpost -n 'test (count (commandline -opc)) -eq 1' -s h -l help -d 'Show this help'
complete -c ccpost -n 'test (count (commandline -opc)) -eq 1' -a send -d 'Post one message into a running session'
complete -c ccpost -n 'test (count (commandline -opc)) -eq 1' -a hook -d 'Post from a Claude Code hook, whose event is on standard input'
complete -c ccpost -n 'test (count (commandline -opc)) -eq 1' -a run -d 'Run a command, post how it ended, and exit with its code'
complete -c ccpost -n 'test (count (commandline -opc)) -eq 1' -a list -d 'List the live sessions of this user'
complete -c ccpost -n 'test (count (commandline -opc)) -eq 1' -a check -d 'Say whether a session can be reached, check by check'
complete -c ccpost -n 'test (count (commandline -opc)) -eq 1' -a policy -d 'Show or edit what sessions do with messages from other processes'
complete -c ccpost -n 'test (count (commandline -opc)) -eq 1' -a rename -d 'Rename a running session'
complete -c ccpost -n 'test (count (commandline -opc)) -eq 1' -a listen -d 'Be a stand-in inbox and print what arrives, to try hooks with'
complete -c ccpost -n 'test (count (commandline -opc)) -eq 1' -a demo -d 'Post to a stand-in session and show what went over the wire'
complete -c ccpost -n 'test (count (commandline -opc)) -eq 1' -a version -d 'Print the version'
complete -c ccpost -n 'test (count (commandline -opc)) -eq 1' -a help -d 'Show this help, a command\'s, or what the exit codes mean'

# send
complete -c ccpost -n '__ccpost_is send' -s h -l help -d 'Show this help'
complete -c ccpost -n '__ccpost_is send' -l to -x -a 'self (__ccpost_names)' -d 'Whose inbox'
complete -c ccpost -n '__ccpost_is send' -l config-dir -x -a '(__fish_complete_directories)' -d 'Where the sessions\' records are'
complete -c ccpost -n '__ccpost_is send' -l all -d 'Every session that matches, or every session where no --to is given'
complete -c ccpost -n '__ccpost_is send' -l as -x -d 'The sender that the session shows'
complete -c ccpost -n '__ccpost_is send' -l wait -x -d 'How long to wait for a word on what became of the message'
complete -c ccpost -n '__ccpost_is send' -l timeout -x -d 'The whole budget, at most 10m'
complete -c ccpost -n '__ccpost_is send' -l priority -x -a 'next later now' -d 'When it is read'
complete -c ccpost -n '__ccpost_is send' -l dry-run -d 'Check everything, connect to nothing, send nothing'
complete -c ccpost -n '__ccpost_is send' -l if-present -d 'Skip silently, with exit code 0, where no session is there'
complete -c ccpost -n '__ccpost_is send' -s v -l verbose -d 'Say more on standard error'
complete -c ccpost -n '__ccpost_is send' -l raw -d 'Send the text without the envelope that names the sender'
complete -c ccpost -n '__ccpost_is send' -s q -l quiet -d 'Say nothing about success, and give no hints'
complete -c ccpost -n '__ccpost_is send' -l json -d 'Print one JSON object instead'

# hook
complete -c ccpost -n '__ccpost_is hook' -s h -l help -d 'Show this help'
complete -c ccpost -n '__ccpost_is hook' -l to -x -a 'self (__ccpost_names)' -d 'Whose inbox'
complete -c ccpost -n '__ccpost_is hook' -l config-dir -x -a '(__fish_complete_directories)' -d 'Where the sessions\' records are'
complete -c ccpost -n '__ccpost_is hook' -l all -d 'Every session that matches, or every session where no --to is given'
complete -c ccpost -n '__ccpost_is hook' -l as -x -d 'The sender that the session shows'
complete -c ccpost -n '__ccpost_is hook' -l wait -x -d 'How long to wait for a word on what became of the message'
complete -c ccpost -n '__ccpost_is hook' -l timeout -x -d 'The whole budget, at most 10m'
complete -c ccpost -n '__ccpost_is hook' -l priority -x -a 'next later now' -d 'When it is read'
complete -c ccpost -n '__ccpost_is hook' -l dry-run -d 'Check everything, connect to nothing, send nothing'
complete -c ccpost -n '__ccpost_is hook' -l if-present -d 'Skip silently, with exit code 0, where no session is there'
complete -c ccpost -n '__ccpost_is hook' -s v -l verbose -d 'Say more on standard error'
complete -c ccpost -n '__ccpost_is hook' -l text -x -d 'The message, with fields of the event in braces'
complete -c ccpost -n '__ccpost_is hook' -l allow-self -d 'Post also where the message goes to the session that the event is from, and could go round for ever'
complete -c ccpost -n '__ccpost_is hook' -l allow-chain -d 'Post also from a turn that a message from another process started, and could go back and forth for ever'
complete -c ccpost -n '__ccpost_is hook' -l best-effort -d 'Exit 0 whatever happens, after the one line'
complete -c ccpost -n '__ccpost_is hook' -l snippet -x -a 'ConfigChange CwdChanged DirectoryAdded Elicitation ElicitationResult FileChanged Notification PermissionDenied PermissionRequest PostCompact PostToolBatch PostToolUse PostToolUseFailure PreCompact PreToolUse SessionEnd SessionStart Stop StopFailure SubagentStart SubagentStop TaskCompleted TaskCreated TeammateIdle UserPromptSubmit WorktreeRemove' -d 'Print the entry for settings.json that runs this hook, with the other flags given here, at EVENT'

# run
complete -c ccpost -n '__ccpost_is run' -s h -l help -d 'Show this help'
complete -c ccpost -n '__ccpost_is run' -l to -x -a 'self (__ccpost_names)' -d 'Whose inbox'
complete -c ccpost -n '__ccpost_is run' -l config-dir -x -a '(__fish_complete_directories)' -d 'Where the sessions\' records are'
complete -c ccpost -n '__ccpost_is run' -l all -d 'Every session that matches, or every session where no --to is given'
complete -c ccpost -n '__ccpost_is run' -l as -x -d 'The sender that the session shows'
complete -c ccpost -n '__ccpost_is run' -l wait -x -d 'How long to wait for a word on what became of the message'
complete -c ccpost -n '__ccpost_is run' -l timeout -x -d 'The whole budget, at most 10m'
complete -c ccpost -n '__ccpost_is run' -l priority -x -a 'next later now' -d 'When it is read'
complete -c ccpost -n '__ccpost_is run' -l dry-run -d 'Check everything, connect to nothing, send nothing'
complete -c ccpost -n '__ccpost_is run' -l if-present -d 'Skip silently, with exit code 0, where no session is there'
complete -c ccpost -n '__ccpost_is run' -s v -l verbose -d 'Say more on standard error'
complete -c ccpost -n '__ccpost_is run' -l on -x -a 'failure success always' -d 'Post on failure, on success, or always, which is the default'
complete -c ccpost -n '__ccpost_is run' -l label -x -d 'What the message calls the command, in place of the command line'
complete -c ccpost -n '__ccpost_is run' -l tail -x -d 'How many lines of output the message ends with, 0 to 1000'
complete -c ccpost -n '__ccpost_is run' -l max-bytes -x -d 'The length of the message, 256 to 262144 bytes'
complete -c ccpost -n '__ccpost_is run' -l require-post -d 'Where the command succeeded and the post did not, exit with the post\'s code'
complete -c ccpost -n '__ccpost_is run' -s q -l quiet -d 'Say nothing about success, and give no hints'
complete -c ccpost -n 'test (count (commandline -opc)) -gt 1; and test (commandline -opc)[2] = run' -a "(__fish_complete_subcommand --fcs-skip=2 '' --to --config-dir --as --wait --timeout --priority --on --label --tail --max-bytes)"

# list
complete -c ccpost -n '__ccpost_is list' -s h -l help -d 'Show this help'
complete -c ccpost -n '__ccpost_is list' -l config-dir -x -a '(__fish_complete_directories)' -d 'Where the sessions\' records are'
complete -c ccpost -n '__ccpost_is list' -s v -l verbose -d 'Also the records that don\'t count, and why'
complete -c ccpost -n '__ccpost_is list' -l json -d 'Print one JSON array instead'

# check
complete -c ccpost -n '__ccpost_is check' -s h -l help -d 'Show this help'
complete -c ccpost -n '__ccpost_is check' -l to -x -a 'self (__ccpost_names)' -d 'Whose inbox'
complete -c ccpost -n '__ccpost_is check' -l config-dir -x -a '(__fish_complete_directories)' -d 'Where the sessions\' records are'
complete -c ccpost -n '__ccpost_is check' -l all -d 'Every session that matches, or every session where no --to is given'
complete -c ccpost -n '__ccpost_is check' -l connect -d 'Also connect, and see which process answers'
complete -c ccpost -n '__ccpost_is check' -l timeout -x -d 'The whole budget, at most 10m'
complete -c ccpost -n '__ccpost_is check' -s q -l quiet -d 'Say nothing about success, and give no hints'
complete -c ccpost -n '__ccpost_is check' -l json -d 'Print one JSON object instead'

# policy
complete -c ccpost -n '__ccpost_is policy' -s h -l help -d 'Show this help'
complete -c ccpost -n '__ccpost_is policy' -l dir -x -a '(__fish_complete_directories)' -d 'The directory that a session is started in, for its project\'s settings'
complete -c ccpost -n '__ccpost_is policy' -l config-dir -x -a '(__fish_complete_directories)' -d 'Where the user\'s settings.json is'
complete -c ccpost -n '__ccpost_is policy' -l if-revision -x -d 'Edit the file only where it is still at this revision, as show --json gives it'
complete -c ccpost -n '__ccpost_is policy' -s q -l quiet -d 'Say nothing about a successful edit, but for what accept opens'
complete -c ccpost -n '__ccpost_is policy' -l json -d 'Print one JSON object instead'
complete -c ccpost -n '__ccpost_is policy' -a 'show accept hold refuse unset'

# rename
complete -c ccpost -n '__ccpost_is rename' -s h -l help -d 'Show this help'
complete -c ccpost -n '__ccpost_is rename' -l to -x -a 'self (__ccpost_names)' -d 'Whose inbox'
complete -c ccpost -n '__ccpost_is rename' -l config-dir -x -a '(__fish_complete_directories)' -d 'Where the sessions\' records are'
complete -c ccpost -n '__ccpost_is rename' -l all -d 'Every session that matches'
complete -c ccpost -n '__ccpost_is rename' -l timeout -x -d 'The whole budget, at most 10m'
complete -c ccpost -n '__ccpost_is rename' -l if-present -d 'Skip silently, with exit code 0, where no session is there'
complete -c ccpost -n '__ccpost_is rename' -s v -l verbose -d 'Say more on standard error'
complete -c ccpost -n '__ccpost_is rename' -s q -l quiet -d 'Say nothing about success, and give no hints'
complete -c ccpost -n '__ccpost_is rename' -l json -d 'Print one JSON object instead'

# listen
complete -c ccpost -n '__ccpost_is listen' -s h -l help -d 'Show this help'
complete -c ccpost -n '__ccpost_is listen' -l name -x -d 'The stand-in session\'s name'
complete -c ccpost -n '__ccpost_is listen' -l behave -x -a 'accept hold refuse drop auth-required close-early stop-reading never-close wrong-session close-unread shut-unread' -d 'How it takes messages'
complete -c ccpost -n 'test (count (commandline -opc)) -gt 1; and test (commandline -opc)[2] = listen' -a "(__fish_complete_subcommand --fcs-skip=2 '' --name --behave)"

# demo
complete -c ccpost -n '__ccpost_is demo' -s h -l help -d 'Show this help'

# version
complete -c ccpost -n '__ccpost_is version' -s h -l help -d 'Show this help'

# help
complete -c ccpost -n '__ccpost_is help' -s h -l help -d 'Show this help'
complete -c ccpost -n '__ccpost_is help' -a 'exit-codes send hook run list check policy rename listen demo version help'

