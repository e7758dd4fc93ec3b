# SPDX-License-Identifier: GPL-2.0-or-later
# pairs.bash: what pairs.sh and stacks.sh have in common. Sourced behind lib.bash.
#   in_overlays ARGUMENT...    the script again, where the packages of pairs_programs.bash lie over /usr
#   all [PATTERN]              calls `one NAME COMMAND` for each program whose name matches; $n_programs of them
in_overlays() {
	need_root
	need_profile
	if [ -z "${SOPROF_OVERLAYS:-}" ]; then
		rm -rf "$dir"
		trap - EXIT
		SOPROF_OVERLAYS=1 exec unshare --mount bash "$0" "$@"
	fi
	/usr/bin/python3 -c 'import capstone' 2>/dev/null || skip 'python3-capstone is not there'
	. "$(dirname "$0")/../unpack.bash"
	. "$(dirname "$0")/calls_packages.bash"
	. "$(dirname "$0")/pairs_programs.bash"
	. "$(dirname "$0")/../cmd/calls_programs.bash" # up, ended
	unpack_packages || fail "packages that can be unpacked"
	mkdir -p /var/cache/soprof && mount -t tmpfs none /var/cache/soprof || fail "a cache of our own"
	export SOPROF SOPROF_SOURCE SOPROF_BUILD
	make_data
}
wrong() { # WHAT: as fail, without the last soprof's words
	n_failed=$((n_failed + 1))
	say "wrong: $*"
}
n_programs=0
all() {
	local name line
	while IFS='|' read -r -u 9 name _ line; do
		[[ $name =~ ^(${1:-.*})$ ]] || continue
		one "$name" "$line"
		n_programs=$((n_programs + 1))
	done 9< <(packages)
}
