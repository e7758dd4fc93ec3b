# SPDX-License-Identifier: GPL-2.0-or-later
# cache.bash: sourced by tests/vm/kernel and tests/vm/emulator: what of Debian's packages the guest needs, fetched once
# into a cache outside the tree; nothing is installed. Once fetched it is kept, so that it also works offline.
#   cached NAME COMMAND   prints the directory NAME of the cache. Where it is missing, COMMAND makes it, called in a
#                         directory of its own.
if [ "$(id -u)" = 0 ]; then cache=${XDG_CACHE_HOME:-/var/cache}/soprof-test; else cache=${XDG_CACHE_HOME:-~/.cache}/soprof-test; fi

make_cached() {
	local name=$1 command=$2 work r
	[ -e "$cache/$name" ] && return
	work=$(mktemp -d "$cache/fetch.XXXXXX") || return
	(cd "$work" && "$command") && mv -T "$work/$name" "$cache/$name"
	r=$?
	rm -rf "$work"
	return $r
}
cached() {
	[ -e "$cache/$1" ] || {
		mkdir -p "$cache" || return
		(flock 9 && make_cached "$@") 9>"$cache/lock" || return
	}
	echo "$cache/$1"
}
# unpacked_into DIRECTORY PACKAGE...: the packages' files
unpacked_into() {
	local to=$1 package
	shift
	echo "fetching $* into $cache" >&2
	apt-get download -q "$@" 2>apt.log >&2 || { cat apt.log >&2; return 1; }
	for package in "$@"; do
		dpkg-deb -x "$package"_*.deb "$to" || return
	done
}
