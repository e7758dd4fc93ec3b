#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The Debian package under a systemd that is the first process of a machine of its own: a Debian 12 in qemu, with Debian's
# kernel and the package as apt installs it. tests/full/systemd/checks runs in there, and says what systemd, the kernel and
# soprof tell of the service. It takes some 24 minutes, 20 of them in the guest. SOPROF_DEB names a package that is there
# already, SOPROF_SYSTEMD_CHECKS a few of the checks (NAME,NAME).
# deadline: 3600
set -u
source=${SOPROF_SOURCE:-$(cd "$(dirname "$0")/../.." && pwd)}
build=${SOPROF_BUILD:-$source/build}
work=$(mktemp -d "${TMPDIR:-/tmp}/soprof-systemd.XXXXXX") || exit 1
root=$work/root
skip() { echo "$1"; exit 77; }
die() { echo "$1"; exit 1; }

guest='' maker=''
cleanup() {
	[ -z "$guest" ] || { kill -KILL "$guest" && wait "$guest"; } 2>/dev/null
	[ -z "$maker" ] || { kill "$maker" && wait "$maker"; } 2>/dev/null
	rm -rf --one-file-system "$work"
}
trap cleanup EXIT
trap 'exit 130' INT TERM HUP
quietly() { "$@" >"$work/log" 2>&1 || { tail -n 20 "$work/log"; die "failed: $*"; }; }
inside() { env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C DEBIAN_FRONTEND=noninteractive chroot "$root" "$@"; }

[ "$(id -u)" = 0 ] || skip "needs root, for chroot"
for program in debootstrap mke2fs qemu-system-x86_64; do
	command -v $program >/dev/null || skip "$program is not installed"
done
mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Codename: bookworm' 'Component: main' | head -n 1)
[ -n "$mirror" ] || skip "apt knows no source of bookworm"
qemu=$("$source/tests/vm/emulator") || skip "no emulator: see the lines above"
package=$(apt-cache depends --no-recommends linux-image-cloud-amd64 | sed -n 's/^ *Depends: *\(linux-image-[0-9].*\)$/\1/p' | tail -n 1)
[ -n "$package" ] || skip "apt knows no kernel package (linux-image-cloud-amd64)"

echo "--- the package, a Debian to install it in, its kernel"
[ -n "${SOPROF_DEB:-}" ] || { "$source/tools/make-deb" "$work/build" >"$work/deb" 2>"$work/deb.log" & maker=$!; }
quietly debootstrap --variant=minbase --include=systemd,systemd-sysv,dbus,kmod,curl,xz-utils,procps bookworm "$root" "$mirror"
(cd "$work" && apt-get download -q "$package" && dpkg-deb -x "$package"_*.deb kernel) >"$work/log" 2>&1 || { cat "$work/log"; die "no kernel"; }
# systemd loads few modules, and soprof by itself one: by which the kernel tells whose a connection is.
for module in net/ipv4/inet_diag.ko net/ipv4/tcp_diag.ko fs/overlayfs/overlay.ko; do
	(cd "$work/kernel" && cp --parents lib/modules/*/kernel/$module "$root/usr") || die "no $module"
done
(cd "$work/kernel" && cp --parents lib/modules/*/modules.{order,builtin,builtin.modinfo} "$root/usr")
quietly inside depmod "${package#linux-image-}"

# apt's sources are the machine's affair, as in deb.sh
cp /etc/resolv.conf "$root/etc/resolv.conf"
for file in /etc/apt/apt.conf.d/*proxy* /etc/hosts; do
	[ ! -e "$file" ] || cp -L "$file" "$root$file"
done
[ -z "$maker" ] || wait "$maker" || { tail -n 20 "$work/deb.log"; die "no package"; }
maker=
deb=${SOPROF_DEB:-$(cat "$work/deb")}
cp "$deb" "$root/root/soprof.deb"
quietly inside apt-get update
quietly inside apt-get install -y /root/soprof.deb

echo "--- its disk"
rm -rf "$root"/var/cache/apt/archives/*.deb "$root"/var/lib/apt/lists/*
install -D -m 755 "$source/tests/full/systemd/checks" "$root/usr/local/sbin/checks"
cp "$source"/tests/full/systemd/*.service "$source"/tests/full/systemd/*.socket "$root/etc/systemd/system/"
install -d "$root/srv/victims"
cp "$build"/tests/victim/plain/{callback,recursion,jit} "$root/srv/victims/"
for user in ann bob; do quietly inside useradd --create-home "$user"; done
echo soprof-guest >"$root/etc/hostname"
echo '127.0.0.1 localhost soprof-guest' >"$root/etc/hosts"
: >"$root/etc/fstab"
size=$(du -sm --apparent-size "$root" | cut -f 1)
quietly mke2fs -q -F -t ext4 -d "$root" -m 0 "$work/disk" $((size * 5 / 4 + 512))m
rm -rf --one-file-system "$root"

echo "--- boot"
# What is said of the CPU, the clock and the kernel's words in tests/vm/run holds here, too.
: >"$work/out"
# shellcheck disable=SC2086
setpriv --pdeathsig KILL $qemu -cpu max,-erms,-fsrm,+invtsc -m 2G -smp 2 -nodefaults -display none -no-reboot \
	-serial "file:$work/console" -serial "file:$work/out" \
	-drive "if=none,id=disk,format=raw,file=$work/disk,cache=unsafe" -device nvme,drive=disk,serial=soprof \
	-kernel "$(echo "$work"/kernel/boot/vmlinuz-*)" -append "console=ttyS0 loglevel=5 panic=-1 oops=panic root=/dev/nvme0n1 rw \
		mitigations=off no5lvl tsc=reliable systemd.unit=checks.service systemd.getty_auto=0 systemd.show_status=no \
		soprof.checks=${SOPROF_SYSTEMD_CHECKS:-}" </dev/null >"$work/qemu" 2>&1 &
guest=$!
tail -f --pid="$guest" "$work/out" 2>/dev/null | sed -u 's/\r$//' &
wait "$guest"
guest=
wait
tr -d '\r' <"$work/out" | grep -qx 'all checks are done' || { tail -n 40 "$work/console"; cat "$work/qemu"; die "the guest stopped before its end"; }
! grep -q '^expected: ' "$work/out"
