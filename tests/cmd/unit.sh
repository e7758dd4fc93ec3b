#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# deadline: 180
# beside others
# The systemd unit: as little privilege as promised, and enough: the agent runs as another user with exactly the unit's
# capabilities, in a mount namespace like the service's, and calls nothing that the unit's filter forbids.
. "$(dirname "$0")/lib.bash"
units=${SOPROF_SOURCE:-$(dirname "$0")/../..}/share/systemd
unit=$units/soprof.service
command -v systemd-analyze >/dev/null || skip "systemd-analyze is not installed"

level=$(systemd-analyze security --offline=true --no-pager "$unit" 2>"$err" | sed -n 's/.*exposure level.*: *\([0-9.]*\) .*/\1/p')
say "exposure level: $level"
[ -n "$level" ] && [ "$(awk -v l="$level" 'BEGIN { print l <= 1.8 }')" = 1 ] || fail "an exposure level of at most 1.8, not '$level'"
mkdir "$dir/units"
sed "s|/usr/bin/soprof|$(realpath "$SOPROF")|" "$unit" >"$dir/units/soprof.service"
cp "$units/soprof.socket" "$dir/units"
systemd-analyze verify --man=no --no-pager "$dir/units/soprof.service" "$dir/units/soprof.socket" >"$out" 2>&1 </dev/null
! grep soprof "$out" || fail "units that systemd finds nothing wrong with"
# what memory ends is a parser or an answer, which the agent goes on without
grep -qx 'OOMPolicy=continue' "$unit" || fail "the service to go on when a helper is ended"
# systemd refuses openat2(2) then, which the opener cannot do without
! grep -qx 'RestrictSUIDSGID=yes' "$unit" || fail "openat2(2) to be had in the service"
need_profile
[ "$(cat /proc/sys/kernel/perf_event_paranoid)" -le 2 ] || skip "perf_event_paranoid is over 2: the package lowers it"
command -v strace >/dev/null || skip "strace is not installed"
command -v curl >/dev/null || skip "curl is not installed"
unshare --mount --net --ipc true 2>/dev/null || skip "no namespaces here"

# --- what the unit says
setting() { sed -n "s/^$1=//p" "$unit"; }
capabilities=$(setting AmbientCapabilities | tr 'A-Z ' 'a-z,' | sed 's/cap_/+/g')
bounding=-all,$capabilities
[ "$(setting AmbientCapabilities)" = "$(setting CapabilityBoundingSet)" ] || fail "the same capabilities in both lines"
# calls NAME...: of system calls and of @sets of them
calls() {
	local name
	for name; do
		case $name in
		@*) calls $(systemd-analyze syscall-filter --no-pager "$name" | sed -n 's/^  *\([^# ][^ ]*\)$/\1/p') ;;
		*) echo "$name" ;;
		esac
	done
}
: >"$dir/allowed"
while read -r -a words; do
	if [[ ${words[0]} == '~'* ]]; then
		words[0]=${words[0]#\~}
		calls "${words[@]}" | sort -u | comm -23 "$dir/allowed" - >"$dir/left"
	else
		{ cat "$dir/allowed"; calls "${words[@]}"; } | sort -u >"$dir/left"
	fi
	mv "$dir/left" "$dir/allowed"
done < <(setting SystemCallFilter)
[ "$(wc -l <"$dir/allowed")" -gt 200 ] || fail "a filter that allows more than $(wc -l <"$dir/allowed") calls"

# --- the service
cp "$SOPROF" "$dir/soprof"
chmod 755 "$dir/soprof"
install -d -m 755 -o 65534 "$dir/run"
install -d -m 750 -o 65534 "$dir/store"
what="agent, as the unit runs it"
# ProtectSystem=strict, ProtectHome=yes, PrivateTmp=yes (what is ours lies elsewhere then), PrivateNetwork=yes, PrivateIPC=yes
cat >"$dir/inside" <<'END'
set -e
dir=$1 bounding=$2 capabilities=$3
mount --make-rprivate /
mkdir -p "$dir/keep"
mount --bind "$dir" "$dir"
for place in / /sys; do mount -o remount,ro,bind "$place" 2>/dev/null || :; done
for place in /home /root; do mount -t tmpfs -o mode=000,ro tmpfs "$place"; done
# ProtectKernelTunables=yes shows it empty, after StandardInput= was opened
exec </proc/kallsyms
mount --bind /dev/null /proc/kallsyms
[ -z "${LISTEN_FDS:-}" ] || export LISTEN_PID=$$
exec setpriv --reuid 65534 --regid 65534 --clear-groups --no-new-privs --bounding-set "$bounding" --inh-caps "-all,$capabilities" \
	--ambient-caps "-all,$capabilities" "$dir/soprof" agent --config "$dir/agent.yaml" --store "$dir/store" --socket "$dir/run/agent.sock"
END
: >"$dir/agent.yaml"
pid_of() { pgrep -P "$1" | while read -r p; do [ "$(cat "/proc/$p/comm" 2>/dev/null)" = soprof ] && echo "$p"; pid_of "$p"; done; }
page_alone() { exec systemd-socket-activate -l "127.0.0.1:$1" "${@:2}"; }
# As soprof.socket has it; systemd-socket-activate makes no socket of netlink.
cat >"$dir/activate.py" <<'END'
import fcntl, os, socket, sys
listener = socket.create_server(('127.0.0.1', int(sys.argv[1])))
peers = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 4)  # inet-diag
for fd, to in [(fcntl.fcntl(s.fileno(), fcntl.F_DUPFD, 100), to) for s, to in ((listener, 3), (peers, 4))]:
    os.dup2(fd, to)
    os.close(fd)
os.environ['LISTEN_FDS'] = '2'
os.execvp(sys.argv[2], sys.argv[2:])
END
with_peers() { exec /usr/bin/python3 "$dir/activate.py" "$@"; }
# serve ACTIVATE COMMAND...: starts it, under COMMAND, with the sockets of a service manager; $agent, $port
serve() {
	: >"$err"
	port=$(free_port)
	"$1" "$port" unshare --mount --net --ipc "${@:2}" bash "$dir/inside" "$dir" "$bounding" "$capabilities" \
		>"$out" 2>>"$err" </dev/null &
	job=$!
	until (: >"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do # which starts it
		kill -0 "$job" 2>/dev/null || { cat "$err"; fail "the page's socket"; finish; }
		sleep 0.1
	done
	wait_agent "$job" "$err"
	agent=$(pid_of "$job" | head -n 1)
	[ -n "$agent" ] || agent=$job # unshare and bash have become it
}
# over HTTP: PATH CODE
get() {
	local code
	code=$(curl -s -m 30 -o "$dir/got" -w '%{http_code}' -H "Authorization: Bearer $(cat "$dir/run/agent.token")" "http://127.0.0.1:$port$1")
	[ "$code" = "$2" ] || { cat "$dir/got"; fail "$1 to be answered by $2, not $code"; }
}
served() {
	kill -TERM "$agent"
	wait "$job"
	status=$?
	[ "$status" = 0 ] || { cat "$err"; fail "exit code 0"; }
}
status() { "$SOPROF" agent --status --socket "$dir/run/agent.sock" >"$dir/status"; }

serve page_alone
[ "$(stat -c %u "/proc/$agent")" = 65534 ] || fail "the agent to be another user"
start plain recursion 600 20
wait_working "$pid" && at_ease "$pid"
for ((i = 0; i < 60 * slow; i++)); do # until a window is stored
	status && grep -q 'windows   [1-9]' "$dir/status" && break
	sleep 1
done
has "$dir/status" 'windows   [1-9]'
complete=$(sed -n 's/.*samples, \([0-9.]*\) % of the user stacks complete.*/\1/p' "$dir/status")
[ "$(awk -v c="$complete" 'BEGIN { print (c > 50) }')" = 1 ] || { cat "$dir/status"; fail "most stacks to be complete"; }
get /-/ready 200
get /api/v1/libraries 200
[ "$(stat -c '%a %u' "$dir/run/agent.token")" = '600 65534' ] || fail "a token of the service's own"
token=$(cat "$dir/run/agent.token")
served
[ "$(cat "$dir/run/agent.token")" = "$token" ] || fail "the token to stay"

# the same, a question and a reload, with every call written down
[ -x /usr/bin/python3 ] || skip "there is no python3"
echo 'max-clients: 8' >"$dir/agent.yaml"
serve with_peers strace -f -qq -e signal=none --seccomp-bpf -o "$dir/trace"
sleep 5
"$SOPROF" query --socket "$dir/run/agent.sock" --from -1m --format folded >"$dir/answer" 2>"$dir/status" || { cat "$dir/status"; fail "an answer"; }
grep -qx 'StandardInput=file:/proc/kallsyms' "$unit" || fail "the kernel's symbols as standard input"
grep -q '^0* ' /proc/kallsyms || has "$dir/answer" ';(do_syscall_64|asm_[a-z_]*);'
get / 200
get /api/v1/libraries 200
get /metrics 200
# asks DESCRIPTOR: over a connection that stays open
asks() {
	local line
	printf 'GET /-/healthy HTTP/1.1\r\nHost: localhost\r\n\r\n' >&"$1"
	while read -r -t 60 line <&"$1"; do [[ $line != *healthy.* ]] || return 0; done
	return 1
}
export -f asks
# it has no network, and tells users of the host's apart: the crowd of one closes no connection of another's
exec {idle}<>"/dev/tcp/127.0.0.1/$port"
asks "$idle" || fail "an answer over a connection that stays open"
setpriv --reuid 12345 --regid 12345 --clear-groups bash -c \
	'for ((i = 0; i < 12; i++)); do exec {fd}<>"/dev/tcp/127.0.0.1/$1"; done; asks "$fd"' crowd "$port" || fail "the last of a crowd to be answered"
(asks "$idle") || fail "root's connection to stay open beside another user's crowd"
exec {idle}<&-
kill -HUP "$agent"
for ((i = 0; i < 300 * slow; i++)); do
	grep -q 'options read again' "$err" && break
	sleep 0.1
done
served
# from the exec of soprof on: what was before it is this test's
sed -n 's/^[0-9]* *\([a-z0-9_]*\)(.*/\1/p' <(sed -n '/execve("[^"]*\/soprof"/,$p' "$dir/trace") | sort -u >"$dir/called"
comm -23 "$dir/called" "$dir/allowed" >"$dir/forbidden"
[ "$(wc -l <"$dir/called")" -gt 30 ] || fail "a trace of more than $(wc -l <"$dir/called") calls"
[ ! -s "$dir/forbidden" ] || fail "no calls that the unit forbids: $(tr '\n' ' ' <"$dir/forbidden")"
# families of sockets
# (that of device events, which the unit refuses, it goes on without: tests/unit/capture/cpus.c)
sed -n '/execve("[^"]*\/soprof"/,$p' "$dir/trace" | grep -E 'socket(pair)?\(' | grep -v -e '(AF_UNIX' -e 'NETLINK_KOBJECT_UEVENT' >"$dir/forbidden"
[ ! -s "$dir/forbidden" ] || fail "sockets of AF_UNIX only: $(head -n 1 "$dir/forbidden")"
finish
