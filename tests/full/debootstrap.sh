#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The front doors in a Debian 12 that has nothing: ./run installs, builds and runs, for a user with sudo and for root without,
# and works without a network afterwards. Then the whole ./test there, without a network, from homes that nobody else may
# enter, with gawk, and with the debuginfod server that Debian configures: as root where the system is a container's root,
# as an ordinary user there, and as root in a plain chroot. The packages come from the machine's own source of Debian
# packages.
# deadline: 9000
set -eu
source=${SOPROF_SOURCE:-$(cd "$(dirname "$0")/../.." && pwd)}
work=${TMPDIR:-/tmp}/debian
skip() { echo "$1"; exit 77; }

[ "$(id -u)" = 0 ] || skip "needs root, for chroot"
command -v debootstrap >/dev/null || skip "debootstrap is not installed"
mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Codename: bookworm' 'Component: main' | head -n 1)
[ -n "$mirror" ] || skip "apt knows no source of bookworm"

trap 'umount -l "$work/proc" "$work/sys" 2>/dev/null || :; rm -rf --one-file-system "$work"' EXIT
debootstrap --variant=minbase bookworm "$work" "$mirror" >"$work.log" 2>&1 || { tail -n 20 "$work.log"; exit 1; }
mount -t proc proc "$work/proc"
mount -t sysfs -o ro sysfs "$work/sys"
cp /etc/resolv.conf "$work/etc/resolv.conf"
# How apt reaches its sources is the machine's affair; no services start in a chroot.
for file in /etc/apt/apt.conf.d/*proxy* /etc/hosts; do
	[ ! -e "$file" ] || cp -L "$file" "$work$file"
done
printf '#!/bin/sh\nexit 101\n' >"$work/usr/sbin/policy-rc.d"
chmod 755 "$work/usr/sbin/policy-rc.d"

# The tree as it stands, without what was built.
mkdir "$work/src"
tar -C "$source" --exclude='./build*' --exclude=./.git -cf - . | tar -C "$work/src" -xf -

inside() { env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C "$@"; }
expect_version() { grep -qE '^soprof [0-9]+\.[0-9]+\.[0-9]+$' || { echo "no version from $1"; exit 1; }; }

echo "--- as nobody: one clear line"
if inside chroot --userspec=65534:65534 "$work" /src/run --version >"$work.log" 2>&1; then
	echo "nobody could run it without its packages"
	exit 1
fi
cat "$work.log"
[ "$(wc -l <"$work.log")" = 1 ] && grep -q '^soprof: packages are missing, .*root must install them: apt-get install ' "$work.log" || exit 1

echo "--- as a user with sudo, in a home that nobody else may enter"
inside chroot "$work" bash -c 'apt-get update -q && apt-get install -y -q --no-install-recommends sudo &&
	useradd -m -s /bin/bash somebody && chmod 700 /home/somebody &&
	echo "somebody ALL=(ALL:ALL) NOPASSWD: ALL" >/etc/sudoers.d/somebody && mv /src /home/somebody/src &&
	chown -R somebody: /home/somebody' >"$work.log" 2>&1 || { tail -n 20 "$work.log"; exit 1; }
as_user() { inside HOME=/home/somebody unshare --mount chroot --userspec=somebody:somebody "$work" "$@"; }
as_user /home/somebody/src/run --version | tee "$work.log"
expect_version "./run, with sudo" <"$work.log"
[ -z "$(find "$work/home/somebody" ! -user "$(stat -c %u "$work/home/somebody")")" ] || { echo "not all is the user's own"; exit 1; }
as_user bash -c 'cd && ./src/run profile -F 99 -o all.folded 1' 2>"$work.log" || { cat "$work.log"; exit 1; }
[ -s "$work/home/somebody/all.folded" ] || { echo "no profile of the whole machine"; exit 1; }
as_user bash -c 'cd && ./src/run calls --no-times libc.so.6 -- id -u' >"$work.log" 2>&1 || { cat "$work.log"; exit 1; }
grep -qx "$(stat -c %u "$work/home/somebody")" "$work.log" || { cat "$work.log"; echo "the command did not run as the user"; exit 1; }
grep -q ' calls by 1 program' "$work.log" || { cat "$work.log"; exit 1; }

echo "--- as root, without sudo, one package missing"
inside SUDO_FORCE_REMOVE=yes chroot "$work" bash -c 'apt-get purge -y -q sudo libzydis-dev && mv /home/somebody/src /src &&
	chown -R root: /src' >"$work.log" 2>&1 || { tail -n 20 "$work.log"; exit 1; }
inside chroot "$work" /src/run --version | tee "$work.log"
expect_version "./run" <"$work.log"

echo "--- again, without a network, at once and silently"
start=$EPOCHREALTIME
inside unshare --net chroot "$work" /src/run --version >"$work.log" 2>&1
expect_version "./run without a network" <"$work.log"
[ "$(wc -l <"$work.log")" = 1 ] || { cat "$work.log"; exit 1; }
awk -v a="$start" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.2f s\n", b - a; exit !(b - a < 30) }' # a build takes longer

echo "--- what ./test wants: packages, the second kernel; debuginfod as Debian configures it; a user"
inside DEBIAN_FRONTEND=noninteractive chroot "$work" bash -ec 'cd /src && . tools/setup.sh
	need_packages build test vm
	echo "libdebuginfod-common libdebuginfod/usedebiandebuginfod boolean true" | debconf-set-selections
	apt-get install -y -q --no-install-recommends gawk libdebuginfod-common
	dpkg-reconfigure libdebuginfod-common # which may be there already, unasked
	useradd --create-home tester
	tests/vm/kernel
	mkdir -p /home/tester/.cache
	cp -r /var/cache/soprof-test /home/tester/.cache/
	rm -rf build
	cp -r /src /home/tester/soprof
	mv /src /root/soprof
	chown -R tester: /home/tester
	chmod 700 /root /home/tester' >"$work.log" 2>&1 || { tail -n 20 "$work.log"; exit 1; }
[ -e "$work/etc/profile.d/debuginfod.sh" ] || { echo "no configuration of debuginfod"; exit 1; }
umount "$work/proc" "$work/sys"

# whole MODE USER: all of ./test, as a login shell of that user runs it whose settings are unusual.
cat >"$work/enter" <<'END'
mode=$1 root=$2 user=$3
ip link set lo up
hostname nowhere
[ "$mode" = chroot ] || mount --bind "$root" "$root" # so that / is a mount inside
cd "$root"
mount -t proc proc proc
mount --rbind /sys sys
mount --rbind /dev dev
enter=(chroot "$root")
if [ "$mode" = container ]; then
	mkdir -p old
	pivot_root . old
	umount -l old
	enter=()
fi
umask 077
ulimit -S -n 256
exec "${enter[@]}" setpriv --reuid "$user" --regid "$user" --init-groups env -i TZ=Asia/Kathmandu LC_ALL=C.UTF-8 \
	XDG_CONFIG_HOME=/nowhere PATH=/usr/local/bin:/usr/bin:/bin HOME="$4" bash -l -c 'cd ~/soprof && echo "asks $DEBUGINFOD_URLS" && ./test'
END
n_failed=0
whole() {
	local home=/root
	[ "$2" = root ] || home=/home/$2
	echo "--- ./test, in a $1, as $2"
	unshare --mount --uts --ipc --net bash -e "$work/enter" "$1" "$work" "$2" "$home" 2>&1 | tee "$work.log"
	grep -q '^asks http' "$work.log" || { echo "no debuginfod server is configured in this $1"; n_failed=$((n_failed + 1)); }
	tail -n 1 "$work.log" | grep -q '^[1-9][0-9]* passed, 0 failed, ' || n_failed=$((n_failed + 1))
}
whole container root
whole container tester
whole chroot root
echo "of three whole runs, $n_failed were not as they should be"
[ "$n_failed" = 0 ]
