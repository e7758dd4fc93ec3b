#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# beside others
# deadline: 120
# Programs whose libraries want more static TLS than ld.so has beside an auditor: they run as without one, are counted, and
# find themselves, their environment and the room for libraries opened later as they are without (tests/victim/calls/tls.c).
. "$(dirname "$0")/lib.bash"
. "$(dirname "$0")/calls.bash"
command -v gcc >/dev/null || skip "needs gcc"
source=$SOPROF_SOURCE/tests/victim/calls/tls.c
library() { gcc -O1 -w -shared -fPIC -o "$dir/$1" "$source" "${@:2}" || fail "$1"; }
library libbig.so -DLIBRARY -DBYTES=9000
library libwide.so -DLIBRARY -DBYTES=64 -DALIGN=256
library liblater.so -DLIBRARY -DBYTES=1000
library libshared.so -DSHARED -DBYTES=6000
gcc -O1 -w -o "$dir/small" "$source" -pthread
gcc -O1 -w -o "$dir/tls" "$source" -Wl,--no-as-needed "$dir/libbig.so" -Wl,-rpath,"$dir" -pthread
ln -s libbig.so "$dir/libalias.so"
gcc -O1 -w -o "$dir/alias" "$source" -Wl,--no-as-needed -L"$dir" -l:libbig.so -l:libalias.so -Wl,-rpath,"$dir" -pthread
gcc -O1 -w -DUSES_SHARED -DBYTES=6000 -o "$dir/shared" "$source" "$dir/libshared.so" -Wl,-rpath,"$dir" -pthread
gcc -O1 -w -o "$dir/wide" "$source" -Wl,--no-as-needed "$dir/libwide.so" -Wl,-rpath,"$dir" -pthread
printf '#!%s %s\n' "$dir/tls" "$dir/liblater.so" >"$dir/script"
chmod 755 "$dir/script"
count_into "$dir/libc.profile" site libc.so.6

# alike PROGRAMS COMMAND...: as many begin to count; the command's child, too, sees no difference
alike() {
	local n=$1 before
	shift
	what=$*
	before=$(counter processes)
	(cd "$dir" && TLS_CHILD=1 "$@") >"$dir/plain" 2>&1
	LD_AUDIT=$audit SOPROF_CALLS=$file run_there "$@"
	[ "$status" = 0 ] || fail "exit code 0"
	diff -a <(lines <"$dir/plain") <(lines <"$out" | grep -av -e '^LD_AUDIT=' -e '^SOPROF_CALLS=') || fail "the same"
	[ "$(tr '\0' '\n' <"$out" | grep -ac -e '^LD_AUDIT=' -e "^SOPROF_CALLS=$file\$")" -ge 2 ] || fail "an environment that counts"
	[ "$(counter processes)" = $((before + n)) ] || fail "$n programs counted, not $(($(counter processes) - before))"
}
# Of a script, AT_EXECFN has become the interpreter's path.
lines() { tr '\0' '\n' | sed 's| \./script$| '"$dir"'/tls|'; }
run_there() {
	(cd "$dir" && TLS_CHILD=1 "$@") >"$out" 2>&1
	status=$?
}
alike 2 "$dir/small" "$dir/liblater.so"
alike 2 ./tls "$dir/liblater.so" one "two three" ""
alike 2 "$dir/alias"
alike 2 "$dir/shared" "$dir/liblater.so"
PATH=$dir:$PATH alike 2 tls
alike 2 ./script four
alike 5 sh -c './tls; exec ./tls'
GLIBC_TUNABLES=glibc.malloc.check=0 alike 2 ./tls "$dir/liblater.so"
GLIBC_TUNABLES= alike 2 ./tls
GLIBC_TUNABLES=glibc.rtld.optional_static_tls=3000:glibc.malloc.check=0 alike 2 ./tls "$dir/liblater.so"
[ "$(sums | sed -n 's/^readlink //p')" -ge 11 ] || fail "counts of all of them"
mkdir "$dir/a=b:c"
cp --sparse=always -p "$file" "$dir/a=b:c/%.profile"
file="$dir/a=b:c/%.profile"
alike 2 ./tls
file=$dir/libc.profile
what="LD_PRELOAD"
for command in "ls -d $dir" "env true" "sh -c 'ls -d $dir | cat'"; do
	LD_PRELOAD=$dir/libbig.so bash -c "$command" >"$dir/plain" 2>&1
	LD_AUDIT=$audit SOPROF_CALLS=$file LD_PRELOAD=$dir/libbig.so bash -c "$command" >"$out" 2>&1
	diff "$dir/plain" "$out" || fail "the same by $command"
done

# No room helps: it runs uncounted, and that is counted.
before=$(counter uncounted)
for program in wide; do
	what=$program
	"$dir/$program" >"$dir/plain"
	counted "$dir/$program" >"$out" 2>"$err"
	status=$?
	[ "$status" = 0 ] && [ ! -s "$err" ] || fail "a run as always"
	diff "$dir/plain" "$out" || fail "the same output"
done
[ "$(counter uncounted)" = $((before + 1)) ] || fail "a note of it"
finish
