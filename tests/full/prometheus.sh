#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# deadline: 600
# Real servers read the agent's metrics: Prometheus scrapes them as text and as OpenMetrics, with exemplars; remote write
# lands in Prometheus and in VictoriaMetrics. What they say, exactly and series by series, is what the store says. The
# servers are Debian's, unpacked: installed they would be started.
. "$(dirname "$0")/../cmd/lib.bash"
. "$(dirname "$0")/../unpack.bash"
need_profile
for tool in curl objcopy; do
	command -v $tool >/dev/null || skip "there is no $tool"
done
unpack prometheus && unpack victoria-metrics || skip "prometheus and victoria-metrics cannot be fetched"

port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
until_it_says() { # SECONDS COMMAND...
	local i n=$1
	shift
	for ((i = 0; i < 5 * n * slow; i++)); do
		"$@" && return
		sleep 0.2
	done
	return 1
}
prometheus=http://127.0.0.1:$(port) victoria=http://127.0.0.1:$(port) agent=127.0.0.1:$(port)
cat >"$dir/prometheus.yml" <<END
global: {scrape_interval: 1s}
scrape_configs:
  - {job_name: text, params: {format: [text]}, static_configs: [{targets: ['$agent']}]}
  - {job_name: open, static_configs: [{targets: ['$agent']}]}
END
"$unpacked/prometheus/usr/bin/prometheus" --config.file="$dir/prometheus.yml" --storage.tsdb.path="$dir/prometheus" \
	--web.listen-address="${prometheus#http://}" --web.enable-remote-write-receiver --enable-feature=exemplar-storage \
	>"$dir/prometheus.log" 2>&1 &
"$unpacked/victoria-metrics/usr/bin/victoria-metrics" -storageDataPath="$dir/victoria" -httpListenAddr="${victoria#http://}" \
	-search.latencyOffset=1s >"$dir/victoria.log" 2>&1 &
for server in "$prometheus/-/ready" "$victoria/health"; do
	until_it_says 30 curl -sf -o "$dir/ready" "$server" || { tail -n 5 "$dir"/*.log; fail "a server that is ready: $server"; finish; }
done

printf 'Basic %s\n' "$(printf 'any:body' | base64)" >"$dir/authorization"
cat >"$dir/agent.yaml" <<END
frequency: 199
group: none
listen: $agent
metrics-series: 20000
remote-write:
  - {url: $prometheus/api/v1/write, interval: 1s, labels: [job=written, instance=here]}
  - {url: $victoria/api/v1/write, interval: 1s, labels: [job=written, instance=here], authorization-file: $dir/authorization}
  - {url: $prometheus/nowhere, interval: 1s}
END
hostile=$(printf 'a"b\\c\nd\377e{}')
# without build ids, by which they would be known under the name of who ran them first
objcopy -R .note.gnu.build-id "$victims/plain/recursion" "$dir/$hostile"
objcopy -R .note.gnu.build-id "$victims/plain/callback" "$dir/mine$$"
"$SOPROF" agent --config "$dir/agent.yaml" --store "$dir/store" --socket "$dir/agent.sock" >"$dir/log" 2>&1 </dev/null &
job=$!
what="agent with $dir/agent.yaml"
until_it_says 30 grep -qs 'to ask: ' "$dir/log" || { cat "$dir/log"; fail "the agent to start"; finish; }
"$dir/$hostile" 600 20 >/dev/null 2>&1 &
"$dir/mine$$" 600 20 >/dev/null 2>&1 &

# What all servers say, and the store: `read.py has LIBRARY`: it is in all of them; `read.py same`: of one moment, at which
# the same windows were counted everywhere, each series is the same, and the store's, to the nanosecond.
cat >"$dir/read.py" <<'END'
import csv, json, subprocess, sys, time, urllib.parse, urllib.request
soprof, store, prometheus, victoria = sys.argv[1:5]
WAYS = [(prometheus, "text"), (prometheus, "open"), (prometheus, "written"), (victoria, "written")]
SELF, INCLUSIVE = "soprof_library_self_cpu_seconds_total", "soprof_library_inclusive_cpu_seconds_total"

def ask(way, name, at):
    query = urllib.parse.urlencode({"query": f'{name}{{job="{way[1]}"}}', "time": at, "nocache": 1})
    answer = json.load(urllib.request.urlopen(f"{way[0]}/api/v1/query?{query}", timeout=30))
    return {(r["metric"].get("library", ""), r["metric"].get("build_id", "")): float(r["value"][1]) for r in answer["data"]["result"]}

def stored(end):
    """Windows up to then; the last one began before the second in which it ended."""
    text = subprocess.run([soprof, "query", "--store", store, "--from", "-1d", "--to", f"@{int(end)}", "--by", "library", "--value", "cpu",
                           "--format", "csv", "--limit", "0"], check=True, capture_output=True).stdout.decode(errors="surrogateescape")
    return {(r["name"] or "[unknown]", r["build_id"]): (int(r["self"]), int(r["total"])) for r in csv.DictReader(text.splitlines())}

def same():
    at = time.time() - 3
    # VictoriaMetrics keeps fewer digits of such a number
    ends = [[round(v, 3) for v in ask(way, "soprof_last_window_end_timestamp_seconds", at).values()] for way in WAYS]
    if ends != [ends[0]] * 4 or not ends[0]:
        return False
    ways = [(ask(way, SELF, at), ask(way, INCLUSIVE, at)) for way in WAYS]
    for way in ways[1:]:
        if way != ways[0]:  # not all of a message is to be seen at once in VictoriaMetrics
            global differ
            differ = set(way[0].items()) ^ set(ways[0][0].items()) or set(way[1].items()) ^ set(ways[0][1].items())
            return False
    own, all_, rows = *ways[0], stored(ends[0][0])
    sums = sum(round(v * 1e9) for v in own.values()), sum(v[0] for v in rows.values())
    print(f"{len(own)} series in each of {len(ways)}, {sums[0] / 1e9:.9f} s; the store has {sums[1] / 1e9:.9f} s")
    assert sums[0] == sums[1]
    for library, times in rows.items():
        if '"' not in library[0]:
            assert (round(own[library] * 1e9), round(all_[library] * 1e9)) == times, (library, times, own[library], all_[library])
    assert len(rows) > 10
    return True

def has(library):
    return all(any(name == library for name, _ in ask(way, SELF, time.time() - 2)) for way in WAYS)

differ = set()
for _ in range(60):
    if same() if sys.argv[5] == "same" else has(sys.argv[6]):
        sys.exit(0)
    time.sleep(1)
print("series that differ:", *list(differ)[:10], sep="\n")
sys.exit(1)
END
reads() { python3 "$dir/read.py" "$SOPROF" "$dir/store" "$prometheus" "$victoria" "$@"; }
reads has "mine$$" || fail "the victim in all servers"
reads has 'a"b\c\x0ad\xffe{}' || fail "a hostile name in all servers"
reads same || fail "the same sums in all servers and in the store"
ask() { # QUERY of Prometheus: the values
	curl -sS --max-time 10 -G "$prometheus/api/v1/query" --data-urlencode "query=$1" |
		python3 -c 'import json, sys; print(*(r["value"][1] for r in json.load(sys.stdin)["data"]["result"]))'
}

# --- exemplars lead to the page, for the window that they are of
curl -sS -G "$prometheus/api/v1/query_exemplars" --data-urlencode "query=soprof_library_self_cpu_seconds_total{job=\"open\",library=\"mine$$\"}" \
	--data-urlencode "start=$(date -d '-10 min' +%s)" --data-urlencode "end=$(date +%s)" >"$dir/exemplars"
python3 - "$dir/exemplars" "$agent" <<'END' || { head -c 600 "$dir/exemplars"; fail "exemplars with the page's address"; }
import json, re, sys
series = json.load(open(sys.argv[1]))["data"]
found = [e for s in series for e in s["exemplars"]]
print(f"{len(found)} exemplars, the last {found[-1]}")
for e in found:
    m = re.fullmatch(rf"http://{re.escape(sys.argv[2])}/#to=(\d+)&at=(\d+)-(\d+)", e["labels"]["page"])
    assert m and m[1] == m[3] and 0 < int(m[3]) - int(m[2]) <= 12 and abs(float(e["timestamp"]) - int(m[3])) <= 1, e
    assert 0 < float(e["value"]) <= 12 * 64, e
END
[ "$(ask 'up{job="open"} + on() up{job="text"}')" = 2 ] || fail "both jobs up"

# --- a server that wants none of it
[ -n "$(ask 'soprof_remote_write_refused_samples_total{job="text"} > 0')" ] || fail "what is refused to be counted"
has "$dir/log" "remote write to $prometheus/nowhere: refused: HTTP 404"
finish
