# SPDX-License-Identifier: GPL-2.0-or-later
# As bash's: the event on the command line, in $REPLY.
_soprof_event() {
	local -i i
	local before
	REPLY=
	for ((i = 2; i <= $#words; i++)); do
		[[ $words[i] != -- ]] || return
		if [[ $words[i] != -* ]] && [[ -z $before || $_soprof_values != *" $before "* ]]; then
			REPLY=${(Q)words[i]}
			return
		fi
		before=$words[i]
	done
}
# [EVENT]: the event's fields, for the last name in the word; without, of the one on the command line.
_soprof_fields() {
	local REPLY=$1 event
	local -a fields=(pid tid comm cpu uid gid cgroup)
	(( $# )) || _soprof_event
	event=$(print -r -- "$REPLY" | sed -E 's/\[[^]]*\]|\{[^}]*\}//g; s/[[{].*//')
	[[ -z $event ]] || fields+=(${(f)"$($soprof trace --list "$event" -v 2>/dev/null |
		sed -nE 's/^    [a-z0-9_]+(:[a-z0-9_]+)?: //p' | tr , '\n' | sed -E 's/.*[ *]//')"})
	compset -P '*[^a-zA-Z0-9_]'
	compadd -a fields
}
_soprof_events() {
	local -a events
	if [[ $PREFIX == *\[* ]]; then
		_soprof_fields "${(Q)PREFIX}"
		return
	fi
	events=("$@" ${(f)"$(cat /sys/kernel/tracing/available_events 2>/dev/null)"})
	compadd -a events
}
