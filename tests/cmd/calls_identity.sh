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
		"$cc" "${library[@]}" -DBETWEEN -o "$at/libbetween.so" "$source" &&
		"$cc" "${flags[@]}" "${pie[@]}" -o "$at/identity" "$source" "$at/libuser.so" "$at/libidentity.so" -Wl,-rpath,"$at" -pthread -ldl
}
build_virtual() { # FLAG...: into $dir/v
	local at=$dir/v
	rm -rf "$at"
	mkdir "$at"
	"$cc" -O1 -w -fPIC -shared -DCOUNTED "${@/-no-pie/-O1}" -Wl,-soname,libvirtual.so -o "$at/libvirtual.so" "$cxx" &&
		"$cc" -O1 -w -fPIC -shared -DPLUGIN "${@/-no-pie/-O1}" -o "$at/libplugin.so" "$cxx" "$at/libvirtual.so" &&
		"$cc" -O1 -w "$@" -o "$at/virtual" "$cxx" "$at/libvirtual.so" -Wl,-rpath,"$at" -ldl
}
same() { # PROGRAM LIBRARY...
	local program=$1
	shift
	count_into "$dir/now.profile" site "$@"
	env "${variables[@]}" "$program" "${program%/*}" >"$dir/plain" 2>&1
	status=$?
	env LD_AUDIT="$audit" SOPROF_CALLS="$file" "${variables[@]}" "$program" "${program%/*}" >"$out" 2>"$err" || [ $? = $status ] || fail "exit code $status"
	[ ! -s "$err" ] || fail "a run as always"
	diff "$dir/plain" "$out" >"$dir/difference" || { head -n 5 "$dir/difference"; fail "the same comparisons"; }
	rm -f "$file"
}
n=0 variables=()
try() { # COMPILER FLAG...
	what=$*
	cc=$1
	shift
	command -v "$cc" >/dev/null && build "$@" 2>"$dir/log" || { say "left out: $what"; return; }
	n=$((n + 1))
	same "$dir/b/identity" libidentity.so
	[ "$(grep -c . "$dir/plain")" -ge "${at_least:-101}" ] || fail "more than 100 comparisons"
}
try_virtual() { # COMPILER FLAG...
	what=$*
	cc=$1
	shift
	command -v "$cc" >/dev/null && build_virtual "$@" 2>"$dir/log" || { say "left out: $what"; return; }
	same "$dir/v/virtual" libvirtual.so
	same "$dir/v/virtual" libstdc++.so.6 libc.so.6
	[ "$(grep -c . "$dir/plain")" -ge 13 ] || fail "13 comparisons"
}
try gcc -Wl,-z,lazy
same "$dir/b/identity" libc.so.6 libxml2.so.2 libcrypto.so.3
variables=(LD_PRELOAD="$dir/b/libbetween.so")
same "$dir/b/identity" libidentity.so libc.so.6
variables+=(LD_BIND_NOW=1)
same "$dir/b/identity" libidentity.so libc.so.6
variables=()
try gcc -Wl,-z,now -fcf-protection -Wl,-z,ibtplt
try gcc -fno-plt
try gcc -fuse-ld=gold
try gcc -no-pie -Wl,-z,lazy
try gcc -no-pie -fno-plt -Wl,-z,now -Wl,-z,norelro
# what linkers write otherwise: tables of names, packed relocations, one segment, a place of their own, no dlopen, code that
# finds its table by itself, libraries that bind to themselves
try gcc -Wl,--hash-style=sysv -Wl,-z,pack-relative-relocs -Wl,-z,noseparate-code
at_least=80 try gcc -Wl,-z,nodlopen -Wl,-z,nodelete -Wl,-z,initfirst
try gcc -no-pie -Wl,-Ttext-segment=0x20000000
try clang -mcmodel=large -fuse-ld=lld
try gcc -Wl,-Bsymbolic
try clang -Wl,-z,lazy
try clang -fno-plt -fuse-ld=lld
try clang -no-pie -fuse-ld=lld
[ "$n" -ge 3 ] || fail "3 builds, not $n"
try_virtual g++ -Wl,-z,lazy
try_virtual g++ -fno-plt
try_virtual g++ -no-pie -Wl,-z,now
finish
