# SPDX-License-Identifier: GPL-2.0-or-later
# entries.bash: sourced by scripts that compare counted calls with uprobes, after lib.bash and calls.bash.
#   probes_of LIBRARY     lines for tests/cmd/entries.c: all functions that the library exports, and jumps to them from
#                         inside of it; on stderr, functions that are left out: the code before may run into them, or no probe can stand there
#   probed_equal COMMAND...   counted and probed in one run: the same calls from outside of $library, function by function
# A uprobe sees all entries of a function, whoever makes them. What makes it comparable: calls are told apart by where they
# return to, and jumps from inside (tail calls, loops) are probed themselves and taken away. What is left are calls from
# outside, which must be as many as were counted. A function that was also called by its address has more. Then it has to
# have its mark; or else its own library holds the address (a table of functions, a callback that it gives out), by which it
# may also jump to it: that is told.
entries=$SOPROF_BUILD/tests/cmd/entries
linker=$(readlink -f /lib64/ld-linux-x86-64.so.2)
n_equal=0 n_calls=0 n_least=0 n_held=0 n_programs=0

functions_of() { # addresses, 16 digits, of all functions; $2: more of them
	{
		readelf --dyn-syms -W "$1" | awk '$4 == "FUNC" || $4 == "IFUNC" { if ($7 ~ /^[0-9]+$/) print $2 }'
		[ -z "${2:-}" ] || cat "$2"
	} | sort -u
}
probes_of() { # LIBRARY FILE-OF-MORE
	objdump -d --insn-width=16 -j .text -j .plt -j .plt.sec -j .plt.got "$1" 2>/dev/null |
		awk -v functions=<(functions_of "$1" "$2") '
		function number(hex,   i, n) {
			for (i = 1; i <= length(hex); i++) n = 16 * n + index("0123456789abcdef", substr(hex, i, 1)) - 1
			return n
		}
		BEGIN {
			while ((getline one < functions) > 0) { sub(/^0+/, "", one); wanted[one] = 1 }
			n = split("jo jno jb jae je jne jbe ja js jns jp jnp jl jge jle jg", names, " ")
			for (i = 1; i <= n; i++) condition[names[i]] = i - 1
			condition["jmp"] = 16
		}
		/^Disassembly/ { open = 0 }
		split($0, part, "\t") != 3 { next }
		{
			at = part[1]; gsub(/[ :]/, "", at)
			split(part[3], word, " ")
			what = word[1]; to = word[2]
			if (what == "bnd" || what == "notrack") { what = word[2]; to = word[3] }
			# uprobes refuse a lock prefix, and run EVEX (62) wrongly
			if (at in wanted && (open || part[2] ~ /^(f0|62) /)) { print at > "/dev/stderr"; delete wanted[at] }
			if (what in condition && to in wanted) jumps[++n_jumps] = "jump " at " " to " " condition[what]
			if (what ~ /^nop|^xchg|^data16|^cs$|^int3/) next
			open = what !~ /^(ret|jmp|ud2|hlt|repz|rep|call|\(bad\))/
		}
		END {
			for (one in wanted) print "entry " one
			for (i = 1; i <= n_jumps; i++) { split(jumps[i], w, " "); if (w[3] in wanted) print jumps[i] }
		}'
}
held_by() { # addresses of code that the library has in its data, or loads
	{
		readelf -SW "$1" | sed 's/^ *\[ *[0-9]*\]//' | awk '$2 != "NOBITS" && $7 ~ /W/ { print $4, $5 }' |
			while read -r offset bytes; do
				od -An -v -tx8 -w8 -j $((0x$offset)) -N $((0x$bytes)) "$1"
			done | sed 's/^ *0*//'
		readelf -rW "$1" | awk '/R_X86_64_RELATIVE/ { print $NF }'
		objdump -d --no-show-raw-insn "$1" | sed -n 's/.*lea .*# \([0-9a-f]*\) .*/\1/p'
	} | sort -u
}
# The vaddr of a file offset in its code.
code_shift() { readelf -lW "$1" | awk '$1 == "LOAD" && / R E /{ print $2, $3; exit }'; }

probed_equal() { # NAME LIBRARY COMMAND...: which loads this copy of the library
	local library=$2 shift_by
	what="$1: ${library##*/}"
	shift_by=$(($(code_shift "$library" | sed 's/\([^ ]*\) \(.*\)/\2 - \1/')))
	rm -f "$dir/now.profile"
	count_into "$dir/now.profile" site "${library##*/}"
	shift 2
	# once to see what is called behind an IFUNC
	local -a with=(env LD_LIBRARY_PATH="${library%/*}" LD_AUDIT="$audit" SOPROF_CALLS="$file")
	"${with[@]}" "$@" </dev/null >"$out" 2>"$err"
	status=$?
	"$calls_file" rows "$file" | awk -F '\t' -v l="$library" '$1 == l { print $7 }' | shifted "$shift_by" >"$dir/more"
	probes_of "$library" "$dir/more" >"$dir/probes" 2>"$dir/fallen"
	rm -f "$file"
	count_into "$file" site "${library##*/}"
	"$entries" "$library" "$linker" "$dir/probes" "$dir/theirs" "${with[@]}" "$@" </dev/null >"$dir/out2" 2>"$dir/err2"
	case $? in
	"$status") ;;
	77) skip "$(tail -n 1 "$dir/err2")" ;;
	*) tail -n 3 "$dir/err2"; fail "exit code $status under probes" ;;
	esac
	judge_counts "$library" "$shift_by"
}
shifted() { # offsets to addresses of 16 digits
	local one
	while read -r one; do printf '%016x\n' $((one + $1)); done | sort -u
}
judge_counts() {
	local linker_name=${linker##*/}
	"$calls_file" rows "$file" | awk -F '\t' -v l="$1" '$1 == l { print $7, $3, $5 == l ? "inside" : "outside", $5, $2 }' |
		while read -r offset n from site name; do
			printf '%x %s %s %s %s\n' $((offset + $2)) "$n" "$([ "${site##*/}" = "$linker_name" ] && echo linker || echo "$from")" "$name"
		done >"$dir/ours"
	"$calls_file" functions "$file" | awk -F '\t' -v l="$1" '$1 == l && $4 == 1 { print $3 }' | shifted "$2" | sed 's/^0*//' >"$dir/marked"
	held_by "$1" >"$dir/held"
	awk -v held="$dir/held" -v fallen="$dir/fallen" -v marked="$dir/marked" -v ours="$dir/ours" '
		BEGIN {
			while ((getline one < fallen) > 0) left_out[one] = 1
			while ((getline one < marked) > 0) mark[one] = 1
			while ((getline one < held) > 0) is_held[one] = 1
			while ((getline one < ours) > 0) {
				split(one, w, " ")
				if (w[3] == "outside") n[w[1]] += w[2]
				if (w[3] == "inside") inside[w[1]] += w[2]
				name[w[1]] = w[4]
			}
		}
		{
			seen[$1] = 1
			theirs = $2 + $3
			if (n[$1] + 0 == theirs && inside[$1] + 0 <= $5) { equal += theirs > 0; calls += theirs }
			else if ($1 in mark && n[$1] + 0 <= theirs) { least++; missed += theirs - n[$1] }
			else if ($1 in is_held && n[$1] + 0 <= theirs) { print "held", $1, name[$1], n[$1] + 0, "of", theirs; n_held++ }
			else print "unequal", $1, name[$1], "counted", n[$1] + 0, "inside", inside[$1] + 0, "entered", $2, "by pointer", $3, "by ld.so", $4, "inside", $5
		}
		END {
			for (one in n) if (!(one in seen) && !(one in left_out)) print "unprobed", one, name[one], n[one]
			for (one in n) if (one in left_out) n_out++
			print "total", equal + 0, calls + 0, least + 0, missed + 0, n_held + 0, n_out + 0
		}' "$dir/theirs" >"$dir/verdict"
	! grep -E '^un(equal|probed)' "$dir/verdict" || fail "as many calls as entries"
	read -r _ now_equal now_calls now_least now_missed now_held now_out < <(grep '^total' "$dir/verdict")
	say "$what: $now_equal functions, $now_calls calls equal; marked and more by their address: $now_least ($now_missed calls); held by their library: $now_held$(sed -n 's/^held / /p' "$dir/verdict" | paste -sd ,); $(wc -l <"$dir/probes") probes; left out: $now_out called"
	n_equal=$((n_equal + now_equal)) n_calls=$((n_calls + now_calls)) n_least=$((n_least + now_least)) n_held=$((n_held + now_held)) n_programs=$((n_programs + 1))
	[ "$now_equal" -ge "${at_least:-3}" ] || fail "${at_least:-3} functions at least"
	[ "$("$calls_file" counters "$file" | grep -cE '^(folded|no_room|no_block|lost) 0$')" = 4 ] || fail "no loss"
}
