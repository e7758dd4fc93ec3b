#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# beside others
# deadline: 120
# Names of a stripped program come from a debuginfod server; one that has nothing, lies or hangs costs names and time,
# never the profile, and nothing is asked where nobody may be.
. "$(dirname "$0")/lib.bash"
need_profile
for tool in objcopy readelf python3; do
	command -v $tool >/dev/null || skip "there is no $tool"
done
[ -n "$(ldconfig -p 2>/dev/null | grep libdebuginfod.so.1)" ] || skip "there is no libdebuginfod"
id=$(readelf -n "$victims/plain/recursion" | sed -n 's/.*Build ID: //p')
mkdir "$dir/serve" "$dir/home"
chmod 777 "$dir/home"
objcopy --only-keep-debug "$victims/plain/recursion" "$dir/serve/$id"
objcopy --strip-all "$victims/plain/recursion" "$dir/none"
cat >"$dir/server.py" <<'END'
import http.server, os, sys, time
directory, mode = sys.argv[1:]
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        print(self.path, file=log, flush=True)
        if mode == 'hang':
            time.sleep(600)
        part = self.path.split('/')
        file = os.path.join(directory, part[2]) if len(part) == 4 and part[1] == 'buildid' else ''
        if part[-1] != 'debuginfo' or not os.path.exists(file):
            self.send_error(404)
            return
        data = open(file, 'rb').read()
        if mode == 'lie':
            data = data[:100] + bytes(1000)
        self.send_response(200)
        self.send_header('Content-Length', str(len(data)))
        self.end_headers()
        self.wfile.write(data)
    def log_message(self, *a):
        pass
log = open(os.path.join(directory, 'log'), 'a')
server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
open(os.path.join(directory, 'port'), 'w').write(str(server.server_port) + '\n')
server.serve_forever()
END
# serve MODE: a server; its address in $DEBUGINFOD_URLS
serve() {
	local tries=100
	rm -f "$dir/serve/port" "$dir/serve/log"
	python3 "$dir/server.py" "$dir/serve" "$1" &
	until grep -q '[0-9]' "$dir/serve/port" 2>/dev/null; do
		[ $((tries -= 1)) -gt 0 ] || { fail "a server"; finish; }
		sleep 0.1
	done
	export DEBUGINFOD_URLS="http://127.0.0.1:$(cat "$dir/serve/port")/"
}
# What was found once is remembered by build id: each time from the beginning.
profile_of() { rm -rf "$dir/cache/names"; expect 0 profile -U -f -F $hz "$@" -- "$dir/none" $moment; }
unset DEBUGINFOD_URLS
export HOME=$dir/home no_proxy=127.0.0.1 CACHE_DIRECTORY=$dir/cache

directories() { ls -d /tmp/soprof-debuginfod.* 2>/dev/null | sort; }
directories >"$dir/before"
new_ones() { directories | comm -13 "$dir/before" -; }

serve truth
profile_of
has "$out" ';(even|odd);(odd|even);'
has "$dir/serve/log" "/buildid/$id/debuginfo"
# nothing is left in /tmp, and nothing belongs to root; what others have there, who ask right now, goes soon
if is_root; then
	for _ in $(seq 50); do
		[ -n "$(new_ones)" ] || break
		sleep 0.2
	done
	[ -z "$(new_ones)" ] || fail "no directory to be left: $(new_ones)"
	[ -z "$(ls -A "$dir/home")" ] || fail "nothing in the home of root: $(ls -A "$dir/home")"
fi
rm "$dir/serve/log"
profile_of --no-debuginfod
has_not "$out" ';(even|odd);'
(unset DEBUGINFOD_URLS && profile_of)
[ ! -e "$dir/serve/log" ] || fail "nothing to be asked"

mv "$dir/serve/$id" "$dir/serve/gone"
profile_of
has_not "$out" ';(even|odd);'
has_not "$err" 'debug'
mv "$dir/serve/gone" "$dir/serve/$id"

serve lie
rm -rf "$dir"/home/.cache "$dir"/home/.debuginfod*
profile_of
has "$out" ';none\+0x'
says 'none \(debuginfod: '

serve hang
rm -rf "$dir"/home/.cache "$dir"/home/.debuginfod*
export DEBUGINFOD_TIMEOUT=600 DEBUGINFOD_MAXTIME=3
begin=$SECONDS
profile_of
[ $((SECONDS - begin)) -lt 40 ] || fail "a server that hangs to cost three seconds, not $((SECONDS - begin)) s"
has "$out" ';none\+0x'
says 'none \(debug file: debuginfod'
[ "$(samples)" -ge 10 ] || fail "all the samples"
finish
