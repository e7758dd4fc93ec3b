#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# beside others
# perf script of several events: each is a value of its own, and sums and samples are those of perf report.
. "$(dirname "$0")/lib.bash"
command -v perf >"$dir/null" || skip "perf is not installed"
cd "$dir" || exit 1
events=(cpu-clock page-faults context-switches)
perf record -q -e "$(IFS=,; echo "${events[*]}")" -g -o perf.data -- sh -c \
	'gzip -c /bin/bash | gzip -dc >bash; sort /etc/services >sorted; xz -0c bash >bash.xz' 2>"$err" ||
	skip "perf may not record: $(tail -n 1 "$err")"
perf script -i perf.data >multi.perf 2>"$err" || fail "perf to write its script: $(cat "$err")"

# Sum and samples of each library by perf, of one event: "PERIOD SAMPLES LIBRARY".
of_perf() {
	perf report -i perf.data --stdio --no-children -g none -F period,sample,dso --fields=period,sample,dso 2>"$dir/null" |
		awk -v event="'$1'" '/^# Samples:/ { on = $NF == event } on && /^ *[0-9]/ { print $1, $2, $3 }'
}
of_soprof() {
	expect 0 report --value "$1" --csv multi.perf
	awk -F, 'NR > 1 && $8 > 0 { print $8, $12, $2 }' "$out"
}
# A sample that was taken on the way out of a process has no call chain: perf report takes its library from the address at
# which it was taken, which perf script does not print then. "PERIOD SAMPLES" of these.
chainless() {
	awk -v event="$1:" 'BEGIN { RS = ""; FS = "\n" } NF == 1 { n = split($1, word, " "); if (word[n] == event) { sum += word[n - 1]; samples++ } }
		END { print sum + 0, samples + 0 }' multi.perf
}
# SUM SAMPLES: what of a library soprof has less of than perf is of samples without a call chain; soprof has it without a library.
alike() {
	awk -v sum="$1" -v samples="$2" '
		{ name = $3 ~ /^\[kernel/ ? "[kernel]" : $3 == "[unknown]" ? "" : $3 }
		FNR == NR && name != "" { left[name] += $1 }
		FNR == NR && name == "" { unknown += $1 }
		FNR != NR && name != "" { left[name] -= $1 }
		FNR != NR && name == "" { without += $1 }
		END {
			if (left["[kernel]"] < 0) { # an address of the kernel that perf finds in no map of its
				unknown += left["[kernel]"]
				left["[kernel]"] = 0
			}
			for (name in left) {
				n += left[name] != 0
				rest += left[name]
				bad += left[name] < 0
			}
			exit bad || unknown < 0 || n > samples || rest > sum || without < sum || rest + unknown != without
		}' "$event.perf" "$event.soprof"
}
# Samples of a library, by the leaf, are those of perf; in soprof's table they are those with it on the stack.
for event in "${events[@]}"; do
	of_perf "$event" >"$event.perf"
	[ -s "$event.perf" ] || fail "some $event"
	of_soprof "$event" >"$event.soprof"
	read -r sum samples < <(chainless "$event")
	[ "$samples" = 0 ] || say "$samples of $event without a call chain"
	alike "$sum" "$samples" || fail "the sums of $event to be perf's: $(paste "$event.perf" "$event.soprof")"
	expect 0 report --value "$event" --json multi.perf
	has "$out" "^\"total\":$(awk '{ n += $1 } END { print n }' "$event.perf"),\"samples\":$(awk '{ n += $2 } END { print n }' "$event.perf")(,|\$)"
done

# Without --value the first event of the text, in every view, and pprof says so to others.
first=$(awk 'NF > 3 && /: *$/ { sub(/:$/, "", $NF); print $NF; exit }' multi.perf)
expect 0 report --json multi.perf
has "$out" "^\"value\":\{\"name\":\"$first\""
expect 0 report -o multi.pb.gz multi.perf
expect 0 report --json multi.pb.gz
has "$out" "^\"value\":\{\"name\":\"$first\""
if command -v go >"$dir/null"; then
	export HOME=$dir PPROF_TMPDIR=$dir
	go tool pprof -symbolize=none -top multi.pb.gz >"$out" 2>"$err" || fail "go tool pprof to read it"
	has "$out" "^Type: $first\$"
fi
finish
