# SPDX-License-Identifier: GPL-2.0-or-later
# The event on the command line: the first word that is no option and no option's value. Bash cuts words at : and =.
_soprof_event() {
	local i word before
	for ((i = 2; i < ${#COMP_WORDS[@]}; i++)); do
		word=${COMP_WORDS[i]}
		while [[ ${COMP_WORDS[i+1]} == [:=]* ]]; do
			word+=${COMP_WORDS[i+1]}${COMP_WORDS[i+2]}
			((i += 2))
		done
		[[ $word != -- ]] || return
		if [[ $word != -* ]] && [[ -z $before || $_soprof_values != *" $before "* ]]; then
			printf '%s\n' "$word"
			return
		fi
		before=$word
	done
}
# EVENT WORD: the event's fields, for the last name in the word.
_soprof_fields() {
	local event fields last=${2##*[^a-zA-Z0-9_]}
	event=$(printf '%s\n' "${1#[\'\"]}" | sed -E 's/\[[^]]*\]|\{[^}]*\}//g; s/[[{].*//')
	[ -z "$event" ] || fields=$("${COMP_WORDS[0]}" trace --list "$event" -v 2>/dev/null |
		sed -nE 's/^    [a-zA-Z0-9_]+(:[a-zA-Z0-9_]+)?: //p' | tr , '\n' | sed -E 's/.*[ *]//')
	COMPREPLY=($(compgen -P "${2%"$last"}" -W "$fields pid tid comm cpu uid gid cgroup" -- "$last"))
}
# WORD...: these, and the kernel's tracepoints, or behind [ fields.
_soprof_events() {
	local word=$cur
	! declare -F _get_comp_words_by_ref >/dev/null || _get_comp_words_by_ref -n : -c word
	word=${word#[\'\"]}
	if [[ $word == *\[* ]]; then
		_soprof_fields "$word" "$word"
	elif [[ $word == usdt:*:* ]]; then
		local library=${word#usdt:}
		COMPREPLY=($(compgen -W "$("${COMP_WORDS[0]}" trace --list "usdt:${library%%:*}:*" 2>/dev/null)" -- "$word"))
	else
		COMPREPLY=($(compgen -W "$* $(cat /sys/kernel/tracing/available_events 2>/dev/null)" -- "$word"))
	fi
	! declare -F __ltrim_colon_completions >/dev/null || __ltrim_colon_completions "$word"
}
