# SPDX-License-Identifier: GPL-2.0-or-later
# unpack.bash: sourced by tests that run servers of Debian packages, which must not be installed: that would start them.
#   unpack PACKAGE    its files are in $unpacked/PACKAGE: fetched once, kept in the build directory; false if that fails
#   unpack_all NAME PACKAGE...   the files of all of them are in $unpacked/NAME
# One at a time: apt refuses to update its lists where another does so, and a test that runs beside wants the same.
unpacked=${SOPROF_BUILD:?}/unpacked
unpack() { unpack_all "$1" "$1"; }
unpack_all() {
	[ -d "$unpacked/$1" ] && return
	mkdir -p "$unpacked"
	(flock 9 && fetch_and_unpack "$@") 9<"$unpacked"
}
fetch_and_unpack() {
	local name=$1 work
	shift
	[ -d "$unpacked/$name" ] && return
	work=$(mktemp -d "$unpacked/.work.XXXXXX") || return
	# _apt, who fetches, may not write here: apt does without him, and says so
	if (cd "$work" && { apt-get download -q "$@" || { apt-get update -q && apt-get download -q "$@"; }; } &&
		for deb in *.deb; do dpkg-deb -x "$deb" files || exit; done) >"$work/log" 2>&1 && chmod 755 "$work/files"; then
		mv -T "$work/files" "$unpacked/$name" 2>/dev/null
	else
		tail -n 3 "$work/log" >&2
	fi
	rm -rf "$work"
	[ -d "$unpacked/$name" ]
}
