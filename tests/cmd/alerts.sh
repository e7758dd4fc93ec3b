#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# beside others
# deadline: 240
# The agent's own alerts: a program that is busy, then no more: told once and once more, to the log, a command and a
# webhook, over a reload and a restart of the agent; with an Alertmanager that does not answer.
. "$(dirname "$0")/lib.bash"

# --- what needs no privileges
wrong() { # LINE:COLUMN MESSAGE, of the configuration on stdin
	cat >"$dir/bad.yaml"
	expect 2 agent --check-config --config "$dir/bad.yaml"
	one_line "^soprof: agent: $dir/bad.yaml:$1: $2\$"
}
printf 'alerts:\n  - lost > 1%%\n  - library lib* shre > 3%%\n' | wrong 3:18 "expected share, total or cpu, not 'shre'"
printf 'alerts:\n  - rule: "library lib* share > 3%% for 5"\n' | wrong 2:40 'a time of 10s to 24h is possible here, not 5'
printf 'alerts:\n  - rule: lost > 1%%\n    comand: /bin/true\n' | wrong 3:5 "an alert has no 'comand'; did you mean command\\?"
printf 'alerts:\n  - {rule: lost > 1%%, command: date}\n' | wrong 2:32 "command: 'date' does not begin with a /; no shell is used"
printf 'alert-to:\n  webhook: localhost\n' | wrong 2:12 "webhook: 'localhost' does not begin with http://HOST or https://HOST"
# the examples that stand in the file that is installed, all at once
sed '/^#web-config/d; s/^#\([a-z]\|  \)/\1/' "${SOPROF_SOURCE:-$(dirname "$0")/../..}/share/agent.yaml" >"$dir/example.yaml"
expect 2 agent --check-config --config "$dir/example.yaml"
one_line '^soprof: agent: open /etc/soprof/[a-z.]*: No such file or directory$'
sed -i '/^ *[a-z]*-file: /d' "$dir/example.yaml"
expect 0 agent --check-config --config "$dir/example.yaml"
command -v python3 >/dev/null || skip "no python3: no webhook"
need_profile

export no_proxy='*'
python3 - "$dir/hook" "$dir/port" <<'END' &
import http.server, json, os, sys
class Hook(http.server.BaseHTTPRequestHandler):
    n = 0
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        Hook.n += 1
        # the first is not taken: it has to come again
        self.send_response(503 if Hook.n == 1 else 200)
        self.send_header("Content-Length", "0")
        self.end_headers()
        note = json.loads(body)
        with open(sys.argv[1], "a") as f:
            print("refused" if Hook.n == 1 else "taken", note["status"], note["name"], self.headers["Authorization"],
                  json.dumps(note, sort_keys=True), file=f)
    def log_message(self, *args):
        pass
server = http.server.HTTPServer(("127.0.0.1", 0), Hook)
with open(sys.argv[2] + ".new", "w") as f:
    f.write(str(server.server_address[1]))
os.rename(sys.argv[2] + ".new", sys.argv[2])
server.serve_forever()
END
until [ -s "$dir/port" ]; do sleep 0.05; done
# --- a command, that says what it was given
busy=busy$$ # a name that nobody else's process has
cat >"$dir/told" <<END
#!/bin/sh
read -r json
echo "\$SOPROF_ALERT_STATUS|\$SOPROF_ALERT_NAME|\$SOPROF_ALERT_LABEL_process|\$SOPROF_ALERT_LABEL_severity|\$1|\$2|\$(ls /proc/self/fd | wc -l)|\$(sed -n 's/^CapEff:\\t//p;s/^NoNewPrivs:\\t//p' /proc/self/status | tr -d '\\n')|\$json" >>$dir/command
END
chmod 755 "$dir/told"
printf 'Bearer secret\n' >"$dir/secret"
cat >"$dir/agent.yaml" <<END
frequency: 99
listen: none
alerts:
  - rule: process $busy cpu > 1% over 10s
    name: busy
    labels: {severity: 'page; "now"'}
    command: [$dir/told, 'a b', '\$(id) *']
    webhook: http://127.0.0.1:$(cat "$dir/port")/x
  - library $busy share > 50% over 10s in process $busy
  - complete < 1%
alert-to:
  alertmanager: http://127.0.0.1:1
  authorization-file: $dir/secret
END
begin() {
	what="agent"
	rm -f "$dir/log"
	"$SOPROF" agent --config "$dir/agent.yaml" --store "$dir/store" --socket "$dir/agent.sock" >"$dir/out" 2>"$dir/log" </dev/null &
	job=$!
	wait_agent "$job" "$dir/log"
}
file_says() { # FILE PATTERN
	local i
	for ((i = 0; i < 600 * slow; i++)); do
		grep -qsE -- "$2" "$1" && return
		sleep 0.1
	done
	tail -n 20 "$dir/log" "$1"
	fail "$1 to say: $2"
}
times() { # N FILE PATTERN
	[ "$(grep -cE -- "$3" "$2")" = "$1" ] || { cat "$2"; fail "$(basename "$2") to say $1 times: $3"; }
}
cp "$victims/plain/recursion" "$dir/$busy"
begin
"$dir/$busy" 600 20 >/dev/null 2>&1 &
pid=$!
at_ease "$pid"
file_says "$dir/log" "alert firing: busy: process $busy: [0-9.]+ % of a CPU \(over 1 %\)$"
file_says "$dir/log" "alert firing: library $busy share .*: library $busy: [0-9.]+ % of all CPU time in process $busy \(over 50 %\)$"
file_says "$dir/command" "^firing\|busy\|$busy\|page; \"now\"\|a b\|\\$\(id\) \*\|4\|0{16}1\|\{\"version\":1,\"status\":\"firing\""
file_says "$dir/hook" '^refused firing busy Bearer secret '
file_says "$dir/hook" '^taken firing busy Bearer secret '
has "$dir/hook" "\"process\": \"$busy\", \"severity\": \"page; \\\\\"now\\\\\"\""
file_says "$dir/log" 'Alertmanager 127.0.0.1:1: .*; it is tried again and again$'

# a reload with a rule more, and one that is broken: what fires is not told again
sed -i 's/^alert-to/  - lost > 90%\n&/' "$dir/agent.yaml"
kill -HUP "$job"
file_says "$dir/log" 'options read again'
sed -i 's/^alert-to/  - lost >> 90%\n&/' "$dir/agent.yaml"
kill -HUP "$job"
file_says "$dir/log" "agent.yaml:[0-9]+:10: expected >, not '>>'; the agent goes on as it was"
sed -i '/>>/d' "$dir/agent.yaml"

# a restart: neither
kill -TERM "$job"
wait "$job" || fail "a clean end"
times 2 "$dir/log" 'alert firing: '
times 0 "$dir/log" 'alert resolved: '
times 1 "$dir/log" 'tried again and again'
begin
file_says "$dir/log" 'Alertmanager 127.0.0.1:1: '
sleep $((11 * slow)) # a window in which it is still busy
kill -KILL "$pid"
wait "$pid" 2>/dev/null
file_says "$dir/log" "alert resolved: busy: process $busy: [0-9.]+ % of a CPU \(was over 1 %\)$"
file_says "$dir/log" 'alert resolved: library '
file_says "$dir/command" '^resolved\|busy\|'
file_says "$dir/hook" '^taken resolved busy '
times 0 "$dir/log" 'alert firing: '
times 2 "$dir/command" ''
times 3 "$dir/hook" ''
[ "$(cut -d '|' -f 1 "$dir/command" | tr '\n' ' ')" = 'firing resolved ' ] || fail "firing, then resolved"

# all the while it sampled; what happened is in the store, too
expect 0 agent --status --socket "$dir/agent.sock"
has "$out" 'windows   [1-9]'
expect 0 query --socket "$dir/agent.sock" --from -10m
has "$err" "^alert at .*: firing: process $busy: "
has "$err" "^alert at .*: resolved: process $busy: "
kill -TERM "$job"
wait "$job" || fail "a clean end"
[ "$(cat "$dir/store/alerts")" = $'soprof alerts 1\nend' ] || fail "nothing that fires or waits in the store"
# what is damaged is told, and passed over
printf 'soprof alerts 1\nfiring\nnote status=firing' >"$dir/store/alerts"
begin
has "$dir/log" "what fired before is not known: $dir/store/alerts: "
# a service manager may end all of its processes at once: then there is nobody who starts workers
for child in $(cat "/proc/$job/task/$job/children"); do
	! grep -q broker "/proc/$child/cmdline" || kill -KILL "$child"
done
kill -TERM "$job"
wait "$job" || fail "a clean end"
finish
