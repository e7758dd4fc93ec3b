# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced by ./run and ./test: packages and builds. Nothing here prints unless something is done or wrong.
# root is the tree; SOPROF_BUILD may name another directory for the build.
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P) || exit 1
build=${SOPROF_BUILD:-$root/build}

say() { printf 'soprof: %s\n' "$*" >&2; }
die() { say "$@"; exit 1; }

# packages_of SECTION...: the names in tools/packages.
packages_of() {
	local section
	for section; do
		sed -n "s/^$section: *//p" "$root/tools/packages"
	done | tr -s ' ' '\n'
}

missing_packages() {
	local wanted
	wanted=$(packages_of "$@" | sort -u)
	# shellcheck disable=SC2086 # one word a package
	dpkg-query -W -f '${db:Status-Status} ${Package}\n' $wanted 2>/dev/null | sed -n 's/^installed //p' | sort -u |
		comm -23 <(printf '%s\n' "$wanted") - | tr '\n' ' ' | sed 's/ $//'
}

# can_sudo: whether sudo is needed, there, and lets us do things as root. Where it does not, it says why.
can_sudo() { [ "$(id -u)" != 0 ] && command -v sudo >/dev/null && sudo -- true; }
as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo -- "$@"; fi; }

# need_packages SECTION...: installs what is missing; who can have no root is told what root must do.
need_packages() {
	local missing log
	command -v dpkg-query >/dev/null || die "this script knows Debian's packages only; see HACKING.md for building by hand"
	missing=$(missing_packages "$@")
	[ -n "$missing" ] || return 0
	[ "$(id -u)" = 0 ] || can_sudo ||
		die "packages are missing, and without sudo root must install them: apt-get install --no-install-recommends $missing"
	say "installing $missing"
	log=$(mktemp) || exit 1
	as_root apt-get update -q >"$log" 2>&1 || say "apt-get update failed; trying with the package lists that are there"
	# shellcheck disable=SC2086
	if ! as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends \
		-o DPkg::Lock::Timeout=120 $missing >>"$log" 2>&1; then
		tail -n 20 "$log" >&2
		rm -f "$log"
		die "could not install the packages above (apt-get's last lines are shown)"
	fi
	rm -f "$log"
}

# Under sudo in somebody's tree the compilers run as that somebody, so that he can still build there afterwards.
as_owner() {
	local place=$root uid gid
	[ -e "$build" ] && place=$build
	uid=$(stat -c %u "$place") gid=$(stat -c %g "$place")
	if [ "$(id -u)" = 0 ] && [ "$uid" != 0 ]; then
		setpriv --reuid "$uid" --regid "$gid" --clear-groups -- "$@"
	else
		"$@"
	fi
}

# One build at a time in one tree; the lock is on the tree's directory and ends with the script.
lock_tree() {
	exec 9<"$root" || die "cannot open $root"
	flock -n 9 || { say "waiting for another build in $root"; flock 9; }
}
unlock_tree() { exec 9<&-; }

# Whether we may build at all; with an up-to-date program already there it does not matter.
can_build() {
	local place=$1
	[ -e "$place" ] || place=$(dirname "$place")
	as_owner test -w "$place"
}
up_to_date() {
	[ -x "$build/soprof" ] && [ -e "$build/src/audit/calls.so" ] && [ -z "$(find "$root/src" "$root/meson.build" "$root/meson_options.txt" \
		-newer "$build/soprof" -type f ! -name '*.swp' -print -quit 2>/dev/null)" ]
}

# quietly LOG COMMAND...: its output only when it fails.
quietly() {
	local log=$1
	shift
	as_owner "$@" >"$log" 2>&1 9<&- && return
	local r=$?
	tail -n 60 "$log" >&2
	return "$r"
}

# build_in DIR TARGET [MESON-OPTION...]: sets up once, then ninja does what is left to do. TARGET all: everything.
# Without options the directory's own are kept; a tree that has moved is set up anew.
build_in() {
	local dir=$1 target=$2 log r=0 was
	shift 2
	log=$(mktemp) || exit 1
	was=$(cat "$dir/set-up-for" 2>/dev/null)
	if [ ! -e "$dir/build.ninja" ] || [ "${was%%|*}" != "$root" ]; then
		say "building in $dir (once)"
		as_owner rm -rf "$dir"
		set_up "$log" "$dir" "$@" || r=$?
	elif [ $# -gt 0 ] && [ "$was" != "$root|$*" ]; then
		set_up "$log" "$dir" --reconfigure "$@" || r=$?
	fi
	[ "$r" = 0 ] && { quietly "$log" ninja -C "$dir" "$target" || r=$?; }
	rm -f "$log"
	[ "$r" = 0 ] || die "the build in $dir failed; the lines above say why"
}
set_up() {
	local log=$1 dir=$2
	shift 2
	quietly "$log" meson setup "$dir" "$root" "$@" || return
	[ "${1:-}" = --reconfigure ] && shift
	printf '%s\n' "$root|$*" | as_owner tee "$dir/set-up-for" >/dev/null
}
