#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# beside others
# deadline: 180
# The agent's metrics: promtool takes them, names cannot break them, and their sums are the store's of the same time.
. "$(dirname "$0")/lib.bash"
. "$(dirname "$0")/../unpack.bash"

# --- what the file may say of them
bad() { # LINE:COLUMN: WORDS, the file on stdin
	cat >"$dir/bad.yaml"
	expect 2 agent --check-config --config "$dir/bad.yaml"
	one_line "^soprof: agent: $dir/bad.yaml:$1"
}
bad '1:17: metrics-series must be 100 to 1000000, not 7' <<<'metrics-series: 7'
bad "1:13: metrics-by: 'user' is none of library, process, cgroup" <<<'metrics-by: user'
bad '2:3: remote-write: a target has no url' <<<$'remote-write:\n- interval: 5s'
bad "1:23: url: 'ftp://x/' does not begin with http" <<<'remote-write: [{ url: ftp://x/ }]'
bad "1:43: interval: '5x' is not a time of 1s to 1h" <<<'remote-write: [{url: http://x/, interval: 5x}]'
bad "2:12: '__a=b' is not a label such as job=soprof" <<<$'remote-write:\n- labels: [__a=b]'
bad '3:17: label a is there twice' <<<$'remote-write:\n- url: http://x/\n  labels: [a=b, a=c]'
bad '3:3: remote-write: http://x/y is there twice' <<<$'remote-write:\n- url: http://me:secret@x/y?z\n- url: http://x/y'
bad "1:17: remote-write has no 'password'" <<<'remote-write: [{password: x}]'
need_profile
for tool in curl objcopy; do
	command -v $tool >/dev/null || skip "there is no $tool"
done

# --- an agent that serves
agent_address=
begin() { # ARGUMENT...
	what="agent $*"
	rm -f "$dir/log"
	"$SOPROF" agent --config "$dir/agent.yaml" --store "$dir/store" --socket "$dir/agent.sock" --listen 127.0.0.1:0 "$@" \
		>"$dir/log" 2>&1 </dev/null &
	job=$!
	until grep -qs 'to ask: ' "$dir/log" && grep -qs 'serves its page at ' "$dir/log"; do
		kill -0 "$job" 2>/dev/null || { cat "$dir/log"; fail "the agent to start"; finish; }
		sleep 0.1
	done
	agent_address=$(grep -oE 'http://127[0-9.:]*/' "$dir/log" | head -n 1)
	[ -n "$agent_address" ] || { cat "$dir/log"; fail "an address in the log"; finish; }
}
get() { # FILE CURL-OPTION...: the page of metrics
	local to=$1
	shift
	curl -sS --max-time 10 -o "$to" -D "$dir/headers" "$@" "${agent_address}metrics${format:-}" || { fail "an answer"; finish; }
}
value() { # SERIES: its value in $dir/page
	awk -v series="$1" 'substr($0, 1, length(series) + 1) == series " " { print $NF }' "$dir/page"
}
hostile=$(printf 'a"b\\c\nd\377e{}')
# without build ids, by which they would be known under the name of who ran them first
objcopy -R .note.gnu.build-id "$victims/plain/recursion" "$dir/$hostile"
objcopy -R .note.gnu.build-id "$victims/plain/callback" "$dir/mine$$"
objcopy -R .note.gnu.build-id "$victims/stripped/recursion" "$dir/bare$$"
chmod 755 "$dir/$hostile" "$dir/mine$$" "$dir/bare$$"
printf "frequency: 199\ngroup: none\nmetrics-functions: ['main', 'even*', 'bare$$+0x*']\nmetrics-series: 20000\n" >"$dir/agent.yaml"
begin
"$dir/$hostile" 600 20 >/dev/null 2>&1 &
at_ease $!
"$dir/bare$$" 600 20 >/dev/null 2>&1 &
bare=$!
at_ease $bare
"$dir/mine$$" 600 20 >/dev/null 2>&1 &
victim=$!
at_ease $victim
for ((i = 0; i < 120 * slow; i++)); do
	get "$dir/page"
	grep -q "^soprof_library_self_cpu_seconds_total{.*library=\"mine$$\"" "$dir/page" && grep -q 'library="a\\"b' "$dir/page" && grep -q "function=\"main\",library=\"mine$$" "$dir/page" &&
		grep -q "function=\"bare$$+0x" "$dir/page" && break
	sleep 0.5
done
grep -qi '^content-type: text/plain; version=0.0.4; charset=utf-8' "$dir/headers" || fail "text by default"

# --- the same as the store says, to the nanosecond, of all windows so far
last() { value 'soprof_last_window_end_timestamp_seconds{source="cpu"}'; }
for ((i = 0; i < 5; i++)); do # until no window ends meanwhile
	cp "$dir/page" "$dir/before"
	run query --store "$dir/store" --from -1d --by library --value cpu --format csv --limit 0
	was=$(last)
	get "$dir/page"
	[ "$was" = "$(last)" ] && break
done
cp "$dir/before" "$dir/page"
awk -F, 'NR > 1 { printf "%s %s %.6f %.6f\n", $2, $5, $8 / 1e9, $10 / 1e9 }' "$out" | grep -v '["\\]' | sort >"$dir/stored"
self='soprof_library_self_cpu_seconds_total{' inclusive='soprof_library_inclusive_cpu_seconds_total{'
awk -v self="$self" -v inclusive="$inclusive" '
	function label(name) { return match($0, name "=\"[^\"]*\"") ? substr($0, RSTART + length(name) + 2, RLENGTH - length(name) - 3) : "" }
	index($0, self) == 1 { s[label("library") " " label("build_id")] = $NF }
	index($0, inclusive) == 1 { t[label("library") " " label("build_id")] = $NF }
	END { for (l in s) if (l !~ /^(other|\[unknown\])/) printf "%s %.6f %.6f\n", l, s[l], t[l] }' "$dir/page" |
	grep -v '["\\]' | sort >"$dir/counted"
sed -i '/^ /d; /^\[unknown\]/d' "$dir/stored"
[ "$(wc -l <"$dir/stored")" -gt 5 ] || fail "libraries in the store"
diff "$dir/stored" "$dir/counted" >"$dir/diff" || { head -n 20 "$dir/diff"; fail "the store's sums in the metrics"; }

# --- hostile names: each a label, the page whole
grep -F 'library="a\"b\\c\\x0ad\\xffe{}"' "$dir/page" | grep -q '^soprof_library_self' || fail "a hostile name, escaped"
has "$dir/page" '^soprof_function_inclusive_cpu_seconds_total\{build_id="[0-9a-f]*",function="main",library="mine'
# functions without names are called by their library and where they begin, which a glob may name
has "$dir/page" "^soprof_function_self_cpu_seconds_total\{build_id=\"\",function=\"bare$$\+0x[0-9a-f]+\",library=\"bare$$\"\} [0-9.]*[1-9]"
starts=$(objdump --dwarf=frames "$dir/bare$$" | sed -n 's/.* pc=0*\([0-9a-f]*\)\.\..*/\1/p')
grep -o "function=\"bare$$+0x[0-9a-f]*" "$dir/page" | sed 's/.*0x//' | sort -u | grep -vxF "$starts" && fail "the starts of functions"
has "$dir/page" '^soprof_library_self_cpu_seconds_total\{build_id="other",library="other"\} 0$'
has "$dir/page" '^soprof_samples_total\{source="cpu",stack="complete"\} [1-9]'
has "$dir/page" '^soprof_build_info\{version="'
get "$dir/open" -H 'Accept: application/openmetrics-text;version=1.0.0,text/plain;q=0.5'
grep -qi '^content-type: application/openmetrics-text; version=1.0.0; charset=utf-8' "$dir/headers" || fail "OpenMetrics when asked"
[ "$(tail -n 1 "$dir/open")" = '# EOF' ] || fail "# EOF at the end"
has "$dir/open" "library=\"mine$$\"\} [0-9.]+ # \{page=\"${agent_address}#to=[0-9]+&at=[0-9]+-[0-9]+\"\} [0-9.]+ [0-9.]+\$"
format='?format=openmetrics' get "$dir/open"
[ "$(tail -n 1 "$dir/open")" = '# EOF' ] || fail "# EOF when asked by the address"
get "$dir/gzip" -H 'Accept-Encoding: gzip'
gunzip <"$dir/gzip" 2>/dev/null | grep -q '^soprof_cpus ' || fail "gzip when asked"
[ "$(curl -sS -o /dev/null -w '%{http_code}' "${agent_address}metrics?x=y")" = 400 ] || fail "an unknown parameter to be refused"
if unpack prometheus; then
	get "$dir/page"
	"$unpacked/prometheus/usr/bin/promtool" check metrics <"$dir/page" >"$dir/said" 2>&1 || { cat "$dir/said"; fail "promtool check metrics"; }
	[ ! -s "$dir/said" ] || { cat "$dir/said"; fail "promtool to have nothing to say"; }
else
	say "no promtool: not checked by it"
fi

# --- a bound by reload stays a bound; a target that is not there is counted, and nothing else suffers
kill "$victim" "$bare"
printf 'frequency: 199\ngroup: none\nmetrics-by: process\nmetrics-series: 100\nremote-write: [{url: "http://127.0.0.1:1/w", interval: 1s}]\n' >"$dir/agent.yaml"
kill -HUP "$job"
for ((i = 0; i < 120 * slow; i++)); do
	get "$dir/page"
	[ "$(value 'soprof_remote_write_failures_total{target="http://127.0.0.1:1/w"}' | cut -d. -f1)" -gt 0 ] 2>/dev/null && break
	sleep 0.5
done
has "$dir/page" '^soprof_remote_write_failures_total\{target="http://127.0.0.1:1/w"\} [1-9]'
has "$dir/page" '^soprof_remote_write_waiting_bytes\{target="http://127.0.0.1:1/w"\} [1-9]'
has "$dir/log" 'metrics-by changes at the next start'
has "$dir/log" 'metrics-series stays 20000 until the next start'
has "$dir/page" '^soprof_metrics_series_limit 20000$'
has "$dir/log" 'remote write to http://127.0.0.1:1/w: .*; tried again'
has "$dir/page" "library=\"mine$$\"\} "
kill -TERM "$job"
wait "$job"
status=$?
[ "$status" = 0 ] || fail "exit code 0 after SIGTERM"
finish
