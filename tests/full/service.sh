#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The Debian package under a real systemd, in a container that is booted: the tutorial's commands as they stand in
# soprof-tutorial(7), from the installation to the removal, in the service's own limits. SOPROF_DEB names a package that is
# there already.
# deadline: 1800
set -u
source=${SOPROF_SOURCE:-$(cd "$(dirname "$0")/../.." && pwd)}
work=${TMPDIR:-/tmp}/debian-service
n_failed=0
skip() { echo "$1"; exit 77; }
fail() { n_failed=$((n_failed + 1)); echo "expected: $1"; }

[ "$(id -u)" = 0 ] || skip "needs root, to boot a container"
for program in debootstrap systemd-nspawn nsenter; do
	command -v $program >/dev/null || skip "$program is not installed"
done
mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Codename: bookworm' 'Component: main' | head -n 1)
[ -n "$mirror" ] || skip "apt knows no source of bookworm"

container=
cleanup() {
	if [ -n "$container" ]; then
		kill -KILL "$(leader)" "$container" 2>/dev/null
		wait "$container" 2>/dev/null
	fi
	rm -rf --one-file-system "$work" "$work-build"
}
trap cleanup EXIT
leader() { pgrep -P "$container" -x systemd; }

echo "--- build and install"
deb=${SOPROF_DEB:-$("$source/tools/make-deb" "$work-build")} || exit 1
for file in prometheus/soprof.rules.yaml grafana/soprof.json grafana/flamegraph.json systemd/network.conf; do
	dpkg-deb --contents "$deb" | grep "./usr/share/soprof/$file\$" >/dev/null || fail "$file in the package"
done
debootstrap --variant=minbase --include=systemd,systemd-sysv,dbus,sudo,adduser,xz-utils,curl,procps,prometheus bookworm "$work" "$mirror" >"$work.log" 2>&1 ||
	{ tail -n 20 "$work.log"; exit 1; }
cp /etc/resolv.conf "$work/etc/resolv.conf"
for file in /etc/apt/apt.conf.d/*proxy* /etc/hosts; do
	[ ! -e "$file" ] || cp -L "$file" "$work$file"
done
grep -q "[[:space:]]$(hostname)\$" "$work/etc/hosts" 2>/dev/null || echo "127.0.1.1 $(hostname)" >>"$work/etc/hosts"
cp "$deb" "$work/root/soprof.deb"
. "$source/tests/commands.bash"
tutorial=$source/man/soprof-tutorial.7.scd
commands() { commands_of_tutorial "$tutorial" "$1" "$2"; } # SECTION NEXT-SECTION
commands INSTALL HISTORY | sed -n '/apt install/p' >"$work/root/install"
[ "$(cat "$work/root/install")" = 'sudo apt install ./soprof.deb' ] || fail "one command that installs"
env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C DEBIAN_FRONTEND=noninteractive chroot "$work" \
	bash -c 'cd && apt-get update && yes | bash ./install' >"$work.log" 2>&1 || { tail -n 20 "$work.log"; exit 1; }

echo "--- boot"
# shellcheck disable=SC2024
systemd-nspawn -D "$work" -b --capability=all --private-network --resolv-conf=off --register=no --keep-unit \
	--system-call-filter='bpf perf_event_open @debug @resources open_by_handle_at' >"$work.boot" 2>&1 </dev/null &
container=$!
inside() {
	nsenter -t "$(leader)" -m -u -i -n -p -C -r -w \
		env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root USER=root LC_ALL=C TERM=dumb "$@"
}
for ((i = 0; i < 600; i++)); do
	[ -n "$(leader)" ] && inside systemctl is-system-running 2>/dev/null | grep -qE 'running|degraded' && break
	kill -0 "$container" 2>/dev/null || { tail -n 5 "$work.boot"; skip "no container can be booted here"; }
	sleep 0.1
done
inside soprof doctor >"$work.out" 2>&1
inside soprof profile -F 99 -- true >"$work.out" 2>&1 || skip "$(tail -n 1 "$work.out")"

tutorial() { # SECTION NEXT-SECTION [LINE]: its commands, without the one that is for eyes; what they say in $work.out
	commands "$1" "$2" | grep -v 'soprof top$' | sed -n "${3:-1,\$}p" >"$work/root/commands"
	echo "--- $1: $(grep -c '' "$work/root/commands") lines"
	inside bash -c 'cd && set -x && yes | . ./commands' >"$work.out" 2>&1 || { cat "$work.out"; fail "success of the last command"; }
}
said() { grep -qE -- "$1" "$work.out" || { cat "$work.out"; fail "the tutorial's commands to say: $1"; }; }
soon() { # PATTERN COMMAND...: within a minute
	local i pattern=$1
	shift
	for ((i = 0; i < 60; i++)); do
		inside "$@" 2>&1 | grep -E -- "$pattern" && return
		sleep 1
	done
	inside "$@"
	fail "$* to say: $pattern"
}
tutorial INSTALL HISTORY 2>/dev/null
tutorial HISTORY 'THE FIRST ALERT'
said '^http://127.0.0.1:9877/#token=[0-9a-f]{64}$'
soon '^windows   [1-9]' soprof agent --status
soon ' ([5-9][0-9]|100)\.[0-9] % of the user stacks complete' soprof agent --status
soon ' libc\.so\.6$' soprof query --from -5m
tutorial 'THE FIRST ALERT' 'TELL SOMEBODY'
said '/etc/soprof/agent.yaml: nothing wrong'
said ' xz$'
soon 'alert firing: compression: library liblzma\.so\.5: [0-9.]+ % of a CPU \(over 10 %\)$' journalctl -u soprof
soon 'alert resolved: compression: library liblzma\.so\.5: ' journalctl -u soprof
tutorial 'TELL SOMEBODY' 'PROMETHEUS AND GRAFANA'
soon '^firing: library liblzma\.so\.5: [0-9.]+ % of a CPU \(over 10 %\)$' cat /var/lib/soprof/told
soon '^resolved: library liblzma\.so\.5: ' cat /var/lib/soprof/told
soon '^PrivateNetwork=no$' systemctl show soprof -p PrivateNetwork
soon '^soprof_alerts_firing\{alert="compression"\} 0$' curl -s http://127.0.0.1:9877/metrics

sed -n '/^# in \/etc\/prometheus\/prometheus.yml$/,/^```$/p' "$tutorial" | grep -v '^```' >"$work/etc/prometheus/prometheus.yml"
soon '^soprof_library_self_cpu_seconds_total.*libc\.so' curl -s http://127.0.0.1:9877/metrics
tutorial 'PROMETHEUS AND GRAFANA' 'AN UPGRADE'
said '^soprof_library_self_cpu_seconds_total.*libc\.so'
said '^ *SUCCESS: /etc/prometheus/prometheus.yml is valid'
soon '"health":"up"' curl -s http://127.0.0.1:9090/api/v1/targets

echo "--- end"
inside systemctl stop soprof
soon 'ended: all windows are in /var/lib/soprof' journalctl -u soprof
[ "$(inside systemctl show soprof -p Result --value)" = success ] || fail "a clean end"
inside journalctl -u soprof | grep -iE 'segv|core|not permitted' && fail "no such lines"
remove() { # LINE: that of the section
	tutorial REMOVE 'SEE ALSO' "$1"
	[ ! -e "$work/usr/bin/soprof" ] || fail "no program after a removal"
}
remove 1
[ -e "$work/etc/soprof/agent.yaml" ] && [ -d "$work/var/lib/soprof" ] || fail "configuration and history to stay"
remove 2
[ ! -e "$work/etc/soprof" ] && [ ! -e "$work/var/lib/soprof" ] || fail "nothing to stay after a purge"
exit $((n_failed > 0))
