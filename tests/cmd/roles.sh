#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# deadline: 300
# beside others
# What each of the agent's processes holds when it samples: capabilities, system calls, the way back. An answer that makes
# a call that no answer makes is ended, with a line in the log, and the agent goes on.
. "$(dirname "$0")/lib.bash"
need_root
need_profile
command -v openssl >/dev/null || skip "openssl is not installed"

field() { awk -v name="$1:" '$1 == name { print $2 }' <<<"$about"; }
# A machine with a user soprof, or none, whatever this one has: in a mount namespace of the agent's own.
uid=47110 gid=47111
grep -v '^soprof:' /etc/passwd >"$dir/without"
{ cat "$dir/without" && echo "soprof:x:$uid:$gid:soprof agent:$dir/home:/bin/false"; } >"$dir/with"
{ grep -v '^soprof:' /etc/group && echo "soprof:x:$gid:"; } >"$dir/group"
mkdir -m 755 "$dir/a" "$dir/home" && chown "$uid" "$dir/home"
# start NAME with|without OPTION...: an agent; its log is $log
start() {
	log=$dir/a/log.$1
	what="agent ($2 a user soprof) ${*:3}"
	unshare -m --propagation private bash -c 'mount --bind "$1" /etc/passwd && mount --bind "$2" /etc/group && exec "${@:3}"' \
		- "$dir/$2" "$dir/group" "$SOPROF" agent --config "$dir/a/agent.yaml" "${@:3}" >"$dir/a/out" 2>"$log" </dev/null &
	job=$!
	wait_until $((300 * slow)) grep -qs 'to ask: ' "$log" || { cat "$log"; fail "the agent to start"; finish; }
}
end() {
	kill -TERM "$job"
	wait "$job"
	status=$?
	[ "$status" = 0 ] || fail "exit code 0"
	has "$log" 'ended: all windows are in'
}
# KEY: that of the certificate. The second kernel's guest has no configuration of openssl.
printf '[req]\ndistinguished_name = name\n[name]\n' >"$dir/openssl.cnf"
certificate_new() {
	openssl req -config "$dir/openssl.cnf" -x509 -newkey rsa:2048 -nodes -keyout "$dir/a/$1" -out "$dir/a/cert.pem" -days 2 -subj /CN=localhost 2>/dev/null ||
		fail "a certificate"
}
write_options() { # HZ [LINE...]
	local web=("listen: 127.0.0.1:$port" "web-config: $dir/a/web.yaml")
	[ "$slow" = 1 ] || web=('listen: none') # the second kernel's guest has no libraries for HTTP
	printf '%s\n' 'group: none' "frequency: $1" "${web[@]}" "${@:2}" >"$dir/a/agent.yaml"
}
port=$(free_port)
# only root may read these, as it may be with those of /etc/soprof
(
	umask 077
	write_options 49
	certificate_new key.pem
	printf 'tls_server_config: {cert_file: cert.pem, key_file: key.pem}\n' >"$dir/a/web.yaml"
)
store=$dir/a/store socket=$dir/a/run/agent.sock
start root without --store "$store" --socket "$socket"
has "$log" 'runs as root, without privileges: there is no user soprof'

# --- the table: ROLE, its name, uid, and capabilities, the last as a pattern. Bits: DAC_READ_SEARCH 2, KILL 5, SETGID 6,
# SETUID 7, SYS_CHROOT 18, SYS_PTRACE 19, PERFMON 38, BPF 39, CHECKPOINT_RESTORE 40; SYS_ADMIN 21 where perf events take it
admin=000001c0000c00e4
[ "$(cat /proc/sys/kernel/perf_event_paranoid)" -le 2 ] || admin="000001c0000c00e4|000001c0002c00e4"
declare -A seen=()
look() { # PID: checks it, if it is one of the table's that is set up
	local name uid caps about
	about=$(cat "/proc/$1/status" 2>/dev/null) || return # at one moment: workers end soon
	name=$(field Name)
	[ -z "${seen[$name]:-}" ] || return
	read -r uid caps < <(awk -v name="$name" '$1 == name { print $2, $3 }' <<<"$table")
	[ -n "$uid" ] || return
	# a worker has its name before it has given up all: the filter comes last
	[ "$(field Seccomp)" = 2 ] || return
	awk -v uid="$uid" '$1 == "Uid:" { exit $2 != uid || $3 != uid || $4 != uid || $5 != uid }' <<<"$about" ||
		fail "$name as uid $uid, not $(field Uid)"
	[ "$uid" = 0 ] || ! grep -qE '^(Gid|Groups):.*\<0\>' <<<"$about" || fail "$name in no group of root's"
	for set in CapPrm CapEff; do
		[[ $(field $set) =~ ^($caps)$ ]] || fail "$name: $set $caps, not $(field $set)"
	done
	[ "$(field CapInh)$(field CapAmb)" = 00000000000000000000000000000000 ] || fail "$name to hand down none"
	[[ $(field CapBnd) =~ ^(0000000000000000|000001c0000c00e4)$ ]] || fail "$name: CapBnd $(field CapBnd)"
	[ "$(field NoNewPrivs)" = 1 ] || fail "$name to win nothing by executing programs"
	say "$name: uid $uid, capabilities $(field CapEff)"
	seen[$name]=1
}
look_at_all() {
	local child
	look "$job"
	for child in $(cat "/proc/$job/task/$job/children"); do look "$child"; done
	[ "${#seen[@]}" = 4 ]
}
# new files, so that an opener and a parser run
n=0
new_file() {
	n=$((n + 1))
	cp "$victims/plain/recursion" "$dir/new$n" && printf x >>"$dir/new$n" && touch -d "@$((1000000000 + n))" "$dir/new$n"
	"$dir/new$n" 1 20 >/dev/null 2>&1 &
}
# all_hold UID: the processes of the agent that was started
all_hold() {
	local tries=$((120 * slow))
	table="soprof-broker $1 $admin
soprof-opener $1 0000014000080004
soprof-parser 65534 0000000000000000
soprof $1 0000000000000000"
	seen=()
	until look_at_all; do
		[ $((tries -= 1)) -gt 0 ] || { fail "a broker, an opener and a parser, not: ${!seen[*]}"; break; }
		[ $((tries % 20)) != 0 ] || new_file
		sleep 0.1
	done
	# all its threads: a filter holds for one and for those that it begins
	for thread in /proc/"$job"/task/*; do
		[ "$(awk '$1 == "Seccomp:" { print $2 }' "$thread/status")" = 2 ] || fail "every thread to be filtered"
	done
}
all_hold 0

# --- what the main process is not allowed any more is refused, and what it does is allowed: SOPROF_FILTER=strict (lib.bash)
# would have ended it
answers() { run query --socket "$socket" --from -1m; [ "$status" = 0 ]; }
reloads() { # PATTERN: what the log says of it
	local n
	n=$(grep -c "$1" "$log")
	kill -HUP "$job"
	more() { [ "$(grep -c "$1" "$log")" -gt "$2" ]; }
	wait_until $((100 * slow)) more "$1" "$n" || fail "a reload that says: $1"
}
wait_until $((900 * slow)) answers || fail "an answer"
expect 0 agent --status --socket "$socket"
reloads 'options read again'
has_not "$log" 'seccomp'
end
[ "$slow" = 1 ] || finish # what follows is the same on every kernel
token=$(cat "$dir/a/run/agent.token")

# --- with a user of its own: what the agent before has made as root is his now, and nothing is root's any more
ln -s "$dir/a/web.yaml" "$store/2020-01-01.10s.db.damaged" # leads to a file that is not the store's
n_files=$(find "$store" -type f | wc -l)
start user with --store "$store" --socket "$socket"
has "$log" 'runs as user soprof$'
all_hold $uid
wait_until $((900 * slow)) answers || fail "an answer from a store that was root's"
expect 0 query --socket "$socket" --from -1h
[ -z "$(find "$store" "$dir/a/run" ! -user $uid ! -type l)" ] || fail "$(find "$store" "$dir/a/run" ! -user $uid) to be the user's"
[ "$(cat "$dir/a/run/agent.token")" = "$token" ] || fail "the token to stay"
[ "$(find "$store" -type f | wc -l)" -ge "$n_files" ] || fail "the files of the store before"
[ "$(stat -c %u:%g:%a "$dir/a" "$dir/a/agent.yaml" "$dir/a/web.yaml" "$dir/a/key.pem" | tr '\n' ' ')" = \
	"0:0:755 0:0:600 0:0:600 0:0:600 " ] || fail "what is not the agent's to stay root's"
# what only root may read is read again, that which was not there at the start is not
write_options 97
reloads 'options read again'
expect 0 agent --status --socket "$socket"
has "$out" '97'
certificate_new other.pem
mv "$dir/a/other.pem" "$dir/a/key.pem"
reloads 'options read again' # another key of the same name
cp "$dir/a/web.yaml" "$dir/a/other.yaml" && chmod 600 "$dir/a/other.yaml"
write_options 97 && sed -i 's/web.yaml/other.yaml/' "$dir/a/agent.yaml"
reloads 'other.yaml: Permission denied; the agent goes on as it was'
has_not "$log" 'seccomp|ERROR'
write_options 97
end
[ ! -e "$socket" ] || fail "the socket to be removed"

# --- where he cannot write nothing is given to him
mkdir -m 755 "$dir/c" && echo x >"$dir/c/of-others"
start foreign with --store "$dir/c/store" --socket "$dir/c/agent.sock"
has "$log" "runs as root, without privileges: user soprof cannot write to $dir/c: Permission denied"
[ "$(stat -c %u "$dir/c" "$dir/c/store" "$dir/c/of-others" | tr '\n' ' ')" = "0 0 0 " ] || fail "no directory to be given away"
end

# --- nor where he could not read the certificate authorities of one to whom metrics are sent
(umask 077 && echo x >"$dir/a/ca.pem")
write_options 49 "remote-write: [{url: 'https://127.0.0.1:9', ca-file: $dir/a/ca.pem}]"
start ca with --store "$dir/d/store" --socket "$dir/d/agent.sock"
has "$log" "runs as root, without privileges: user soprof cannot read $dir/a/ca.pem: Permission denied"
end
finish
