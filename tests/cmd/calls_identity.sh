#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# beside others
# deadline: 120
# Addresses of functions are what they are without us: a program that compares all that it can get, in every way
# (tests/victim/calls/identity.c), by the compilers and linkers that are here, prints the same while calls are counted; and
# calls by name are counted exactly, or their function is marked.
. "$(dirname "$0")/lib.bash"
. "$(dirname "$0")/calls.bash"
source=$SOPROF_SOURCE/tests/victim/calls/identity.c cxx=$SOPROF_SOURCE/tests/victim/calls/virtual.cc
echo 'IDENTITY_1 { *; }; IDENTITY_2 { identity_versioned; } IDENTITY_1;' >"$dir/version"

build() { # FLAG...: into $dir/b; false: not by these
	local at=$dir/b flags=(-O2 -w -fno-semantic-interposition "$@") pie=()
	local library=("${flags[@]}" -shared -fPIC)
	rm -rf "$at"
	mkdir "$at"
	case " $* " in *' -no-pie '*) ;; *) pie=(-fPIE -pie) ;; esac
	library=("${library[@]/-no-pie/-O2}")
	"$cc" "${library[@]}" -DCOUNTED -Wl,--version-script="$dir/version" -Wl,-soname,libidentity.so -o "$at/libidentity.so" "$source" &&
		"$cc" "${library[@]}" -DUSER -o "$at/libuser.so" "$source" "$at/libidentity.so" &&
		"$cc" "${library[@]}" -DPLUGIN -o "$at/libplugin.so" "$source" "$at/libidentity.so" &&
		"$cc" "${flags[@]}" "${pie[@]}" -o "$at/identity" "$source" "$at/libuser.so" "$at/libidentity.so" -Wl,-rpath,"$at" -pthread -ldl
}
same() { # LIBRARY...
	count_into "$dir/now.profile" site "$@"
	"$dir/b/identity" "$dir/b" >"$dir/plain" 2>&1
	counted "$dir/b/identity" "$dir/b" >"$out" 2>"$err"
	status=$?
	[ "$status" = 0 ] && [ ! -s "$err" ] || fail "a run as always"
	diff "$dir/plain" "$out" >"$dir/difference" || { head -n 5 "$dir/difference"; fail "the same comparisons"; }
	rm -f "$file"
}
n=0
try() { # COMPILER FLAG...
	what=$*
	cc=$1
	shift
	command -v "$cc" >/dev/null && build "$@" 2>"$dir/log" || { say "left out: $what"; return; }
	n=$((n + 1))
	same libidentity.so
	[ "$(grep -c . "$dir/plain")" -gt 100 ] || fail "more than 100 comparisons"
}
try gcc -Wl,-z,lazy
same libc.so.6 libxml2.so.2 libcrypto.so.3
try gcc -Wl,-z,now -fcf-protection -Wl,-z,ibtplt
try gcc -fno-plt
try gcc -fuse-ld=gold
try gcc -no-pie -Wl,-z,lazy
try clang -Wl,-z,lazy
try clang -fno-plt -fuse-ld=lld
try clang -no-pie -fuse-ld=lld
[ "$n" -ge 3 ] || fail "3 builds, not $n"
finish
