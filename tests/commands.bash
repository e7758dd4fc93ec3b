# SPDX-License-Identifier: GPL-2.0-or-later
# commands.bash: sourced by tests that run what the texts tell people to type. One command a line, as it stands there, less
# a prompt and a comment behind it.
#   commands_of_readme FILE             of indented blocks, and of `code` within lines
#   commands_of_help                    the examples of each `$SOPROF COMMAND --help`
#   commands_of_tutorial FILE [A [B]]   lines with a $, and what follows a <<'END'; from section A to section B
#   not_commands_of_readme FILE         lines of blocks that speak of soprof and are no command
# What a command begins with; a line of a block that begins otherwise is output, or a file's text.
command_words='sudo|soprof|\./run|\./test|eval|env|git|make|man|curl|perf|timeout|xdg-open|systemctl|apt|promtool|[A-Z_]+=[^ ]*'

no_comments() { sed -E 's/[[:space:]]+#( .*)?$//; s/[[:space:]]+$//'; }
blocks_of_readme() { sed -nE 's/^    (\$ )?([^ ].*)$/\2/p' "$1" | no_comments; }
commands_of_readme() {
	{
		blocks_of_readme "$1"
		grep -v '^    ' "$1" | grep -oE '`[^`]+`' | tr -d '`' | grep -vE '^(man|env|git|make|perf|eval|curl|apt|timeout|promtool|sudo|soprof)$'
	} | grep -E "^($command_words)( [^ ]|\$)"
}
not_commands_of_readme() {
	blocks_of_readme "$1" | grep -vE "^($command_words)( [^ ]|\$)" | grep -E 'soprof|\./run|\./test'
}
commands_of_help() {
	local name
	for name in $("$SOPROF" --help | sed -nE 's/^  ([a-z][a-z-]*) +.*/\1/p'); do
		"$SOPROF" "$name" --help | sed -n '/^examples:$/,$s/^  //p' | sed 's/   *[^ ].*$//'
	done
}
commands_of_tutorial() {
	awk -v from="${2:-}" -v to="${3:-}" '/^# / { name = substr($0, 3); if (name == from) in_it = 1; if (to != "" && name == to) in_it = 0 }
		from != "" && !in_it { next }
		/^```/ { on = !on; next }
		!on { next }
		/^\$ / { sub(/^\$ /, ""); print; here = /<<.END.$/; next }
		here { print; here = $0 != "END" }' "$1"
}
