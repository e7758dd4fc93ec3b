#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# beside others
# Which package a library is of: by dpkg's database, by the note in the file, and not by the database of this machine
# where the file is a container's.
. "$(dirname "$0")/lib.bash"
need_profile
plugin=$victims/plain/libplugin.so
libc=$(readlink -f /lib/x86_64-linux-gnu/libc.so.6)
has_dpkg() { dpkg -S "*${libc#/usr}" >"$dir/dpkg" 2>/dev/null; }

# the package and version of a library in the table that is in $out
package_of() { awk -F, -v name="$1" '$2 == name { print $6 " " $16 }' "$out"; }
told() { [ "$(package_of "$1")" = "$2" ] || fail "$1 of package '$2': $(grep -F ",$1," "$out")"; }

# --- the file's own note, and dpkg
expect 0 profile -U -F 199 --format csv -- "$victims/plain/plugin" "$seconds" "$plugin"
if grep -qa '"plugin-package"' "$plugin"; then
	told libplugin.so 'plugin-package 3:1.2-4'
	has_note=1
else
	say "this machine's linker writes no package notes"
	has_note=
fi
told plugin ' '
if has_dpkg; then
	told libc.so.6 "libc6 $(dpkg-query -W -f '${Version}' libc6:amd64)"
else
	say "no dpkg on this machine"
fi

# --- a pprof file keeps them
expect 0 profile -U -F 199 -o "$dir/x.pb.gz" -- "$victims/plain/plugin" "$seconds" "$plugin"
expect 0 report --by package "$dir/x.pb.gz"
[ -z "$has_note" ] || has "$out" ' plugin-package$'
! has_dpkg || has "$out" ' libc6$'
expect 0 report --csv "$dir/x.pb.gz"
[ -z "$has_note" ] || told libplugin.so 'plugin-package 3:1.2-4'
cp "$out" "$dir/once"
expect 0 report -o "$dir/y.pb.gz" "$dir/x.pb.gz"
expect 0 report --csv "$dir/y.pb.gz"
cmp -s "$out" "$dir/once" || fail "the same packages after a profile was written anew"

# --- a container: another root, in a mount namespace of its own; its libc has the path that ours has
root=$dir/root
mkdir -p "$root/old" "$root/lib64" "$root/lib/x86_64-linux-gnu" "$root/usr/lib/x86_64-linux-gnu"
cat >"$dir/enter" <<'X'
root=$1 victim=$2 plugin=$3 seconds=$4 type=$5
if [ "$type" = tmpfs ]; then mount -t tmpfs none "$root"; else mount --bind "$root" "$root"; fi || exit 77
mkdir -p "$root/old" "$root/lib64" "$root/usr/lib/x86_64-linux-gnu"
cp /lib64/ld-linux-x86-64.so.2 "$root/lib64/" && cp -L /lib/x86_64-linux-gnu/libc.so.6 "$root/usr/lib/x86_64-linux-gnu/" &&
	cp "$victim" "$root/plugin" && cp "$plugin" "$root/libplugin.so" && cd "$root" && pivot_root . old && cd / || exit 77
exec /lib64/ld-linux-x86-64.so.2 --library-path /usr/lib/x86_64-linux-gnu /plugin "$seconds" /libplugin.so
X
if ! unshare --mount true 2>/dev/null || ! command -v pivot_root >/dev/null; then
	say "no mount namespaces or pivot_root here"
	finish
fi
for type in tmpfs bind; do
	unshare -m bash "$dir/enter" "$root" "$victims/plain/plugin" "$plugin" 60 $type 2>"$dir/why" &
	pid=$! tries=100
	until grep -qs ' /libplugin\.so$' "/proc/$pid/maps"; do
		[ $((tries -= 1)) -gt 0 ] && [ -e "/proc/$pid" ] || break
		sleep 0.1
	done
	if ! grep -qs ' /libplugin\.so$' "/proc/$pid/maps"; then
		! is_root || fail "to run in a namespace ($type): $(cat "$dir/why")"
		break
	fi
	# on its own: with a process of ours that has the same libc the two are one library
	expect 0 profile -U -F 199 -p $pid -o "$dir/c.pb.gz" "$seconds"
	kill -KILL $pid
	wait $pid 2>/dev/null
	expect 0 report --csv "$dir/c.pb.gz"
	has "$out" '^library,libc\.so\.6,libc\.so\.6,/usr/lib/x86_64-linux-gnu/libc\.so\.6,' # as here
	told libc.so.6 ' '
	[ -z "$has_note" ] || told libplugin.so 'plugin-package 3:1.2-4'
done
finish
