#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The Debian package: built from the tree, installed into a Debian 12 that has nothing, run there, upgraded, removed. The
# packages come from the machine's own source of Debian packages. SOPROF_DEB names a package that is there already.
# deadline: 1800
set -eu
source=${SOPROF_SOURCE:-$(cd "$(dirname "$0")/../.." && pwd)}
work=${TMPDIR:-/tmp}/debian-deb
skip() { echo "$1"; exit 77; }
fail() { echo "expected: $1"; exit 1; }

[ "$(id -u)" = 0 ] || skip "needs root, for chroot"
command -v debootstrap >/dev/null || skip "debootstrap is not installed"
mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Codename: bookworm' 'Component: main' | head -n 1)
[ -n "$mirror" ] || skip "apt knows no source of bookworm"

agent=
cleanup() {
	[ -z "$agent" ] || kill -KILL "$agent" 2>/dev/null || :
	umount -l "$work/proc" "$work/sys" "$work" 2>/dev/null || :
	rm -rf --one-file-system "$work" "$work-build"
}
trap cleanup EXIT
echo "--- build"
deb=${SOPROF_DEB:-$("$source/tools/make-deb" "$work-build")}
dpkg-deb --field "$deb" Depends | grep -q 'libbpf1' || fail "libraries in Depends"
dpkg-deb --contents "$deb" | grep './usr/lib/systemd/system/soprof.service$' >/dev/null || fail "the unit"
dpkg-deb --contents "$deb" | grep './usr/lib/systemd/system/soprof.socket$' >/dev/null || fail "the page's socket"

for file in prometheus/soprof.rules.yaml grafana/soprof.json grafana/flamegraph.json systemd/network.conf; do
	dpkg-deb --contents "$deb" | grep "./usr/share/soprof/$file$" >/dev/null || fail "$file"
done

echo "--- install"
debootstrap --variant=minbase bookworm "$work" "$mirror" >"$work.log" 2>&1 || { tail -n 20 "$work.log"; exit 1; }
mount --bind "$work" "$work"
mount -t proc proc "$work/proc"
mount -t sysfs -o ro sysfs "$work/sys"
cp /etc/resolv.conf "$work/etc/resolv.conf"
# How apt reaches its sources is the machine's affair; no services start in a chroot.
for file in /etc/apt/apt.conf.d/*proxy* /etc/hosts; do
	[ ! -e "$file" ] || cp -L "$file" "$work$file"
done
printf '#!/bin/sh\nexit 101\n' >"$work/usr/sbin/policy-rc.d"
chmod 755 "$work/usr/sbin/policy-rc.d"
inside() { env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C DEBIAN_FRONTEND=noninteractive chroot "$work" "$@"; }
quietly() { "$@" >"$work.log" 2>&1 || { tail -n 20 "$work.log"; fail "success of: $*"; }; }
cp "$deb" "$work/soprof.deb"
quietly inside apt-get update
quietly inside apt-get install -y --no-install-recommends /soprof.deb systemd-standalone-sysusers
inside getent passwd soprof | grep -q ':/var/lib/soprof:' || fail "a user soprof"
inside dpkg --verify soprof
inside soprof --version
inside soprof agent --check-config | grep -q '/etc/soprof/agent.yaml: nothing wrong' || fail "a good configuration"
for file in bash-completion/completions/soprof zsh/vendor-completions/_soprof fish/vendor_completions.d/soprof.fish; do
	grep -q soprof "$work/usr/share/$file" || fail "completion: $file"
done
zcat "$work/usr/share/man/man1/soprof-agent.1.gz" | grep -q 'max\\-disk\|max-disk' || fail "a man page with the options"

echo "--- run"
log=$work.agent
(exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C chroot "$work" soprof agent --frequency 99) >"$log" 2>&1 &
agent=$!
for ((i = 0; i < 600; i++)); do
	grep -q 'to ask: ' "$log" && break
	kill -0 "$agent" 2>/dev/null || break
	sleep 0.1
done
cat "$log"
grep -q 'to ask: ' "$log" || { grep -qE 'CAP_|not permitted' "$log" && skip "$(tail -n 1 "$log")"; fail "an agent that starts"; }
(while :; do :; done) &
busy=$!
for ((i = 0; i < 90; i++)); do # until a window is stored: the names of all that runs are looked up first
	sleep 1
	inside soprof agent --status | grep -q 'windows   [1-9]' && break
done
inside soprof agent --status
inside soprof query --from -2m -o /out.folded || fail "an answer"
kill "$busy"
grep -q '^bash;' "$work/out.folded" || { head "$work/out.folded"; fail "the shell that is busy in the answer"; }
inside setpriv --reuid 65534 --regid 65534 --clear-groups soprof agent --status >/dev/null || fail "an answer for nobody"
kill -TERM "$agent"
wait "$agent" || fail "a clean end"
agent=
inside soprof query --from -5m -o /files.folded || fail "an answer from the files"
[ -s "$work/files.folded" ] || fail "something in it"

echo "--- upgrade, remove, purge"
echo 'frequency: 7' >>"$work/etc/soprof/agent.yaml"
quietly inside dpkg --force-confold -i /soprof.deb
grep -q '^frequency: 7$' "$work/etc/soprof/agent.yaml" || fail "a changed configuration to be kept"
quietly inside dpkg --remove soprof
[ -e "$work/etc/soprof/agent.yaml" ] && [ -d "$work/var/lib/soprof" ] || fail "configuration and history to stay"
quietly inside dpkg --purge soprof
[ ! -e "$work/etc/soprof" ] && [ ! -e "$work/var/lib/soprof" ] && [ ! -e "$work/usr/bin/soprof" ] || fail "nothing to stay after a purge"
