#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# beside others
# `soprof serve --fleet` where the fleet's server is away, hangs or refuses: one clear line, to nobody without the token, and
# no secret where others see it. What it says of a real one: tests/cmd/fleet.sh.
. "$(dirname "$0")/lib.bash"
command -v curl >/dev/null || skip "curl is not installed"
[ -x /usr/bin/python3 ] || skip "there is no python3"

# --- bad input
expect 2 serve
one_line '--fleet URL is missing'
expect 2 serve --fleet ftp://clickhouse
one_line 'does not begin with http:// or https://'
expect 2 serve --fleet "http://me:secret@clickhouse"
one_line 'no password belongs into an address'
has_not "$err" secret
expect 2 serve --fleet http://clickhouse --listen none
one_line 'it serves nothing without an address'
expect 1 serve --fleet http://clickhouse --password-file "$dir/none"
one_line 'none: No such file'
expect 1 serve --fleet http://clickhouse --socket "$dir/no/where/f.sock"
one_line 'no/where: No such file'

# --- a server that fails as the database's name says; what it is sent is in $dir/asked
cat >"$dir/fake.py" <<'END'
import http.server, struct, sys, time
directory = sys.argv[1]
class Fake(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        sql = self.rfile.read(int(self.headers['Content-Length']))
        with open(directory + '/asked', 'a') as asked:
            print(self.path, '\n', self.headers, file=asked)
        if b'system.settings' in sql: # no setting cuts answers
            self.send_response(200)
            return self.end_headers()
        database = self.path.split('database=')[1].split('&')[0]
        if database == 'hang':
            time.sleep(30)
        if database == 'large' and b'FROM meta' in sql:
            self.send_response(200)
            self.end_headers()
            return self.wfile.write(struct.pack('<QIQ', 1, 1, 1))
        limited = 'max_execution_time=' in self.path
        text = {'wrong': 'Code: 193. DB::Exception: Wrong password for user me',
                'large': 'Code: 159. DB::Exception: Timeout exceeded: elapsed 30 seconds' if limited else 'no limit',
                'reader': 'Code: 164. DB::Exception: Cannot modify max_execution_time in readonly mode' if limited else
                          'Code: 60. DB::Exception: Table reader.meta does not exist'}.get(database, '')
        self.send_response(500)
        self.end_headers()
        self.wfile.write(text.encode())
    def log_message(self, *words):
        pass
server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Fake)
server.daemon_threads = True
with open(directory + '/fake.port', 'w') as f:
    print(server.server_port, file=f)
server.serve_forever()
END
/usr/bin/python3 "$dir/fake.py" "$dir" &
until [ -s "$dir/fake.port" ]; do sleep 0.05; done
fake=127.0.0.1:$(cat "$dir/fake.port")
secret="it's \"so\" secret"
printf '%s\nmore\n' "$secret" >"$dir/password"

# begin URL [OPTION...]: $job, $url, $token
begin() {
	what="serve --fleet $1"
	port=$(free_port) url=http://127.0.0.1:$port
	: >"$dir/log" # of the one before, which would be taken for this one's
	"$SOPROF" serve --fleet "$@" --password-file "$dir/password" --socket "$dir/f.sock" --listen "127.0.0.1:$port" --query-timeout 2s \
		>"$dir/stdout" 2>"$dir/log" </dev/null &
	job=$!
	wait_agent $job "$dir/log" 'serves the fleet'
	token=$("$SOPROF" open --socket "$dir/f.sock" --token) || fail "a token"
}
end() {
	kill -TERM $job
	wait $job || { cat "$dir/log"; fail "soprof serve to end well"; }
	grep -qF -e "$secret" -e "$token" "$dir/log" "$dir/stdout" && fail "no password or token in the log"
}
# gets STATUS PATH [PATTERN]: the answer with the token, which is one line if it is a failure's
gets() {
	local got
	got=$(curl -s -m 30 -H "Authorization: Bearer $token" -o "$dir/body" -w '%{http_code}' "$url$2")
	[ "$got" = "$1" ] || { head -c 500 "$dir/body"; fail "$2 to be answered by $1, not $got"; }
	[ -z "${3:-}" ] || grep -qE -- "$3" "$dir/body" || { head -c 500 "$dir/body"; fail "$2 to say: $3"; }
	[ "$got" = 200 ] || [ "$(grep -c '' "$dir/body")" = 1 ] || fail "one line about $2"
}

# --- nobody is there
begin http://127.0.0.1:1
[ "$(curl -s -o /dev/null -w '%{http_code}' "$url/api/v1/overview")" = 401 ] || fail "nothing without the token"
[ "$(curl -s -o /dev/null -w '%{http_code}' -H 'Host: elsewhere' "$url/")" = 421 ] || fail "nothing by another name"
expect 0 open --socket "$dir/f.sock"
[ "$(cat "$out")" = "$url/#token=$token" ] || fail "the page's address"
[ "$(stat -c %a "$dir/f.token")" = 600 ] || fail "a token for its user alone"
gets 200 / '<html lang="en" class="fleet"'
gets 502 /api/v1/overview '^\{"error":"http://127\.0\.0\.1:1: .*[Cc]onnect.*"\}$'
gets 502 '/api/v1/flame?from=-1h' 'http://127\.0\.0\.1:1: '
gets 404 /api/v1/live 'nothing live'
gets 400 '/api/v1/flame?seconds=30' 'seconds: a fleet has what its hosts have sent'
gets 400 '/api/v1/users?user=root' 'give a number'
gets 400 '/api/v1/hosts?colour=red' 'no parameter colour'
gets 404 /debug/pprof/profile
gets 404 /metrics
gets 200 /-/ready
kill -HUP $job
wait_agent $job "$dir/log" 'read again'
end

# --- of a CPU each client has his share, which the first answer has used up here; what costs next to nothing is served, with pauses
begin http://127.0.0.1:1 --max-cpu 0.01%
gets 502 /api/v1/hosts
gets 429 /api/v1/hosts 'used up your CPU time'
curl -s -m 30 -H 'Accept-Encoding: gzip' -o "$dir/body" "$url/" # which the first to ask so has it compress
gets 200 /-/healthy
if [ "$(id -u)" = 0 ]; then # another user is another client
	another=$(setpriv --reuid 12345 --regid 12345 --clear-groups curl -s -m 30 -H "Authorization: Bearer $token" "$url/api/v1/hosts")
	[[ $another == *127.0.0.1:1* ]] || fail "another user to be answered, not: $another"
fi
grep -q 'with pauses in between' "$dir/log" || fail "the log to tell of pauses"
end

# --- it hangs: the others' answers do not wait for it, and the password is in its header alone
begin "http://me@$fake/hang"
children=
for ((i = 0; i < 10 && ${#children} == 0; i++)); do # one may have ended before it is looked at
	curl -s -m 30 -H "Authorization: Bearer $token" -o /dev/null "$url/api/v1/flame" &
	waiting=$!
	until children=$(cat "/proc/$job/task/$job/children") && [ -n "$children" ] || ! kill -0 $waiting 2>/dev/null; do sleep 0.02; done
	[ -n "$children" ] || wait $waiting
done
[ -n "$children" ] || fail "a process that answers"
for child in $job $children; do
	tr '\0' ' ' 2>/dev/null <"/proc/$child/cmdline" | grep -qF -e secret -e "$token" && fail "no secret in the words of process $child"
	tr '\0' ' ' 2>/dev/null <"/proc/$child/environ" | grep -qF -e "$token" && fail "no token in the environment of process $child"
done
gets 200 /-/healthy
gets 504 /api/v1/libraries '"error":"http://127\.0\.0\.1:[0-9]+: .*([Tt]imed? ?out|timed out).*"'
wait $waiting
grep -qF "X-ClickHouse-Key: $secret" "$dir/asked" || fail "the password in its header"
grep '^/' "$dir/asked" | grep -qi -e 'so["%]' -e secret && fail "no password in an address"
end

# --- it refuses
begin "http://me@$fake/wrong"
gets 502 /api/v1/flame 'says: HTTP 500: Wrong password for user me'
end
begin "http://me@$fake/large"
gets 413 /api/v1/flame 'too large a question: a shorter time, or fewer hosts \(host, label\), would make it smaller: .*Timeout exceeded'
end
begin "http://me@$fake/reader" # who may set no limit
gets 502 /api/v1/flame 'no fleet.s tables in the database reader; soprof fleet init makes them'
end
finish
