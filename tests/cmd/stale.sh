#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# beside others
# soprof libs --stale after an upgrade that dpkg made, in a database and with a log of our own: the version of the build
# that runs, and that of the one on the disk.
. "$(dirname "$0")/lib.bash"
command -v dpkg-deb >"$dir/null" || skip "dpkg is not installed"
is_root || skip "needs root, for a database of packages of its own"
if [ -z "${SOPROF_OWN_MOUNTS:-}" ]; then
	unshare --mount --propagation private true 2>/dev/null || skip "namespaces of mounts cannot be made here"
	rm -rf "$dir"
	SOPROF_OWN_MOUNTS=1 exec unshare --mount --propagation private bash "$0"
fi
place=$dir/place plugin=$victims/plain/libplugin.so db=$dir/db log=$dir/dpkg.log
arch=$(dpkg --print-architecture)
mkdir -p "$place" "$db/info" "$db/updates" "$db/triggers"
: >"$db/status"; : >"$db/available"; : >"$log"
package() { # VERSION LIBRARY: installs it
	local tree=$dir/tree.$1
	mkdir -p "$tree/DEBIAN" "$tree$place"
	cp "$2" "$tree$place/libplugin.so"
	printf 'Package: soprof-stale\nVersion: %s\nArchitecture: %s\nMaintainer: a <a@example.org>\nDescription: a test\n' "$1" "$arch" >"$tree/DEBIAN/control"
	dpkg-deb --root-owner-group -b "$tree" "$dir/$1.deb" >"$dir/null" 2>"$err" || fail "dpkg-deb to build $1: $(cat "$err")"
	dpkg --admindir="$db" --log="$log" -i "$dir/$1.deb" >"$dir/null" 2>"$err" || fail "dpkg to install $1: $(cat "$err")"
}
start_one() { # NAME: a program that has the library mapped: $pid
	local i
	cp "$victims/plain/plugin" "$dir/$1"
	"$dir/$1" 600 "$place/libplugin.so" </dev/null >"$dir/null" 2>&1 &
	pid=$!
	for ((i = 0; i < 400; i++)); do
		grep -qF "$place/libplugin.so" "/proc/$pid/maps" 2>"$dir/null" && break
		sleep 0.05
	done
	kill -STOP "$pid"
}
json() { # PID KEY: of the use of libplugin.so by the process, or of the library
	/usr/bin/python3 - "$out" "$1" "$2" <<-'PYTHON'
		import json, sys
		for lib in json.load(open(sys.argv[1]))["libraries"]:
		    for use in lib["used_by"]:
		        if lib["name"].startswith("libplugin.so") and use["pid"] == int(sys.argv[2]):
		            print(use.get(sys.argv[3], lib.get(sys.argv[3], "-")))
	PYTHON
}
is() { [ "$1" = "$2" ] || fail "$3: '$2', not '$1'"; }

mount --bind "$db" /var/lib/dpkg || skip "mounts are not allowed"
[ -e /var/log/dpkg.log ] || skip "dpkg keeps no log here"
mount --bind "$log" /var/log/dpkg.log || skip "mounts are not allowed"

package 1.0-1 "$plugin"
start_one first; first=$pid
expect 0 libs -s 0 -p "$first" libplugin
has "$out" '  soprof-stale 1\.0-1$'
package 2.0-1 "$plugin.new"
start_one second; second=$pid
[ "$(dpkg-query --admindir="$db" -W -f '${Version}' soprof-stale)" = 2.0-1 ] || fail "2.0-1 installed"

expect 0 libs --stale -p "$first,$second"
has "$out" ' libplugin\.so +soprof-stale +1\.0-1 +2\.0-1$'
expect 0 libs --stale -p "$first,$second" --csv
has "$out" ',soprof-stale,.*,1\.0-1,2\.0-1$'
expect 0 libs -s 0 --json -p "$first,$second" libplugin
if [ -x /usr/bin/python3 ]; then
	is "$(json "$first" package_version)" 1.0-1 "the version of the old build"
	is "$(json "$first" disk_version)" 2.0-1 "the version that replaced it"
	is "$(json "$first" state)" replaced "the state"
	is "$(json "$second" package_version)" 2.0-1 "the version of the new build"
	is "$(json "$second" disk_version)" - "nothing that replaced the new build"
fi

# Where the log does not say, soprof does not either.
cp "$log" "$dir/whole.log"
: >"$log"
expect 0 libs --stale -p "$first"
has "$out" ' libplugin\.so +soprof-stale +unknown +2\.0-1$'
cat "$dir/whole.log" >"$log"

# Replaced by hand, which no log tells of: of what version the build was is not known, and 2.0-1 is not said of it.
last=$(tail -n 1 "$log" | cut -c 1-19)
until [ "$(date '+%Y-%m-%d %H:%M:%S')" != "$last" ]; do sleep 0.05; done # the log has whole seconds
cp "$plugin" "$place/by-hand" && mv "$place/by-hand" "$place/libplugin.so"
expect 0 libs --stale -p "$second"
has "$out" ' libplugin\.so\.new +soprof-stale +unknown +2\.0-1$'
expect 0 libs -s 0 -p "$second" libplugin
has "$out" '  soprof-stale, version unknown$'
finish
