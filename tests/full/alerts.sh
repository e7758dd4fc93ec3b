#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# deadline: 600
# Alerts with the real servers of Debian's packages, on loopback: Prometheus scrapes the agent and judges the rules that
# are installed; they, and the agent's own, go to Alertmanager, which tells a webhook: firing and resolved, each once. The
# agent's Alertmanager does not answer at first.
. "$(dirname "$0")/../cmd/lib.bash"
tree=${SOPROF_SOURCE:-$(readlink -f "$(dirname "$0")/../..")}
. "$tree/tests/unpack.bash"
need_root # for a mount namespace: Alertmanager has its templates at a fixed place
need_profile
for package in prometheus prometheus-alertmanager; do
	unpack $package || skip "Debian's package $package cannot be fetched"
done
command -v python3 >/dev/null && command -v xz >/dev/null || skip "no python3, or no xz"
export no_proxy='*'

/usr/bin/python3 - "$dir" <<'END' &
import http.server, json, os, socket, sys
class Hook(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()
        with open(sys.argv[1] + "/hook", "a") as f:
            for a in body["alerts"]:
                l = a["labels"]
                print(a["status"], l["alertname"], l.get("library", l.get("process", l.get("job", ""))),
                      a["annotations"].get("summary", ""), sep="|", file=f)
    def log_message(self, *args):
        pass
server = http.server.HTTPServer(("127.0.0.1", 0), Hook)
held = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
ports = [server.server_address[1]] + [s.getsockname()[1] for s in held]
for s in held:
    s.close()
with open(sys.argv[1] + "/ports.new", "w") as f:
    print(*ports, file=f)
os.rename(sys.argv[1] + "/ports.new", sys.argv[1] + "/ports")
server.serve_forever()
END
until [ -s "$dir/ports" ]; do sleep 0.1; done
read -r hook manager prometheus <"$dir/ports"

says() { # FILE PATTERN
	local i
	for ((i = 0; i < 1800; i++)); do
		grep -qsE -- "$2" "$1" && return
		sleep 0.1
	done
	tail -n 20 "$1" "$dir"/*.log "$dir/log"
	fail "$1 to say: $2"
	finish
}
times() { # N PATTERN: of what the webhook was told
	[ "$(grep -cE -- "$2" "$dir/hook")" = "$1" ] || { cat "$dir/hook"; fail "the webhook to be told $1 times: $2"; }
}
listen=127.0.0.1:0
begin() {
	what=agent
	rm -f "$dir/log"
	"$SOPROF" agent --config "$dir/agent.yaml" --store "$dir/store" --socket "$dir/agent.sock" --listen "$listen" >"$dir/log" 2>&1 </dev/null &
	job=$!
	says "$dir/log" 'serves its page at '
	listen=$(sed -n 's,.*serves its page at http://\([^/]*\)/.*,\1,p' "$dir/log")
}
cat >"$dir/agent.yaml" <<END
frequency: 99
metrics-functions: [lzma_*]
alerts:
  - rule: library liblzma* cpu > 3% over 10s in process xz$$
    name: own
alert-to:
  alertmanager: http://127.0.0.1:$manager
END
cat >"$dir/alertmanager.yml" <<END
route: {receiver: hook, group_by: ['...'], group_wait: 1s, group_interval: 2s, repeat_interval: 1h}
receivers:
  - name: hook
    webhook_configs: [{url: 'http://127.0.0.1:$hook/', send_resolved: true}]
END
# the same rules, about seconds; and for a machine that does other things, too
sed 's/\[5m\]/[25s]/; s/for: 5m/for: 4s/; s/> 0\.3$/> 0.02/; s/> 0\.2$/> 0.02/' "$tree/share/prometheus/soprof.rules.yaml" >"$dir/rules.yaml"
cmp -s "$dir/rules.yaml" "$tree/share/prometheus/soprof.rules.yaml" && fail "rules about seconds"

begin
cat >"$dir/prometheus.yml" <<END
global: {scrape_interval: 2s, evaluation_interval: 2s}
rule_files: [$dir/rules.yaml]
alerting: {alertmanagers: [{static_configs: [{targets: ['127.0.0.1:$manager']}]}]}
scrape_configs:
  - job_name: soprof
    static_configs: [{targets: ['$listen']}]
END
"$unpacked/prometheus/usr/bin/promtool" check config "$dir/prometheus.yml" >"$out" 2>&1 || { cat "$out"; fail "a good configuration"; }
"$unpacked/prometheus/usr/bin/prometheus" --config.file="$dir/prometheus.yml" --storage.tsdb.path="$dir/tsdb" \
	--web.listen-address="127.0.0.1:$prometheus" >"$dir/prometheus.log" 2>&1 </dev/null &
cp "$(command -v xz)" "$dir/xz$$"
"$dir/xz$$" -T1 </dev/urandom >/dev/null 2>&1 &
busy=$!
says "$dir/log" 'alert firing: own: library liblzma.so.5: [0-9.]+ % of a CPU in process xz[0-9]+ \(over 3 %\)$'
says "$dir/log" "Alertmanager 127.0.0.1:$manager: .*; it is tried again and again"
# now there is one
# shellcheck disable=SC2016 # that shell's
unshare --mount bash -c 'mkdir -p /usr/share/prometheus && mount -t tmpfs none /usr/share/prometheus &&
	cp -r "$1/usr/share/prometheus/alertmanager" /usr/share/prometheus/ && shift && exec "$@"' - \
	"$unpacked/prometheus-alertmanager" "$unpacked/prometheus-alertmanager/usr/bin/prometheus-alertmanager" \
	--config.file="$dir/alertmanager.yml" --storage.path="$dir/alertmanager" --cluster.listen-address= \
	--web.listen-address="127.0.0.1:$manager" >"$dir/alertmanager.log" 2>&1 </dev/null &
says "$dir/log" "Alertmanager 127.0.0.1:$manager takes alerts again"
says "$dir/hook" '^firing\|own\|liblzma.so.5\|library liblzma.so.5: [0-9.]+ % of a CPU in process xz[0-9]+ \(over 3 %\)'
says "$dir/hook" '^firing\|SoprofLibraryShare\|liblzma.so.5\|liblzma.so.5 uses [0-9.]+% of the CPU time on '
# a restart in the midst: no second message
kill -TERM "$job"
wait "$job" || fail "a clean end"
begin
sleep 12
kill -KILL "$busy"
wait "$busy" 2>/dev/null
says "$dir/hook" '^resolved\|own\|liblzma.so.5\|'
says "$dir/hook" '^resolved\|SoprofLibraryShare\|liblzma.so.5\|'
times 1 '^firing\|own\|'
times 1 '^resolved\|own\|'

# the agent's end, which only others can tell
kill -KILL "$job"
wait "$job" 2>/dev/null
says "$dir/hook" "^firing\|SoprofAgentDown\|soprof\|soprof's agent on $listen cannot be scraped"
begin
says "$dir/hook" '^resolved\|SoprofAgentDown\|'
kill -TERM "$job"
wait "$job" || fail "a clean end"
cat "$dir/hook"
finish
