# SPDX-License-Identifier: GPL-2.0-or-later
# As bash's: the event on the command line, its fields, events.
function __soprof_event
	set -l before
	for word in (commandline -opc)[3..]
		test "$word" = --; and return
		if not contains -- "$before" $__soprof_values; and not string match -q -- '-*' "$word"
			echo $word
			return
		end
		set before $word
	end
end
function __soprof_fields
	set -l soprof (commandline -opc)[1]
	set -l fields pid tid comm cpu uid gid cgroup
	set -l event (string trim -l -c "'\"" -- "$argv[1]" | sed -E 's/\[[^]]*\]|\{[^}]*\}//g; s/[[{].*//')
	set -l word (string trim -l -c "'\"" -- (commandline -ct))
	test -z "$event"; or set -a fields ($soprof trace --list $event -v 2>/dev/null |
		sed -nE 's/^    [a-z0-9_]+(:[a-z0-9_]+)?: //p' | tr , '\n' | sed -E 's/.*[ *]//')
	printf '%s\n' (string replace -r '[a-zA-Z0-9_]*$' '' -- "$word")$fields
end
function __soprof_events
	if string match -q -- '*[*' (commandline -ct)
		__soprof_fields (commandline -ct)
	else
		printf '%s\n' $argv
		cat /sys/kernel/tracing/available_events 2>/dev/null
	end
end
