#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# beside others
# ./run and ./test and sudo: who is asked for what, where there is a sudo, where it refuses, and where there is none. sudo is
# a script here, which writes down what it is asked (tests/full/debootstrap.sh has the real one, in a Debian that has nothing).
. "$(dirname "$0")/lib.bash"
source=${SOPROF_SOURCE:-$(readlink -f "$(dirname "$0")/../..")}
need_root # to become somebody else
tree=$dir/tree
mkdir -p "$tree/tools" "$tree/build/src/audit" "$dir/none" "$dir/sudo" "$dir/home"
cp "$source/run" "$source/test" "$tree" && cp "$source/tools/setup.sh" "$source/tools/packages" "$tree/tools"
cp "$SOPROF" "$tree/build" && cp "$SOPROF_BUILD/src/audit/calls.so" "$tree/build/src/audit"
chmod -R go+rX "$tree" && chown nobody "$dir/home"
sed -i 's/^build: .*/build: gcc/; s/^test: .*/test: gcc/; /^\(vm\|full\): /d' "$tree/tools/packages" # those of this machine do
cp -s /usr/sbin/* /usr/bin/* "$dir/none" 2>/dev/null
rm -f "$dir/none/sudo"
asked=$dir/home/asked
cat >"$dir/sudo/sudo" <<END
#!/bin/bash
echo "\$*" >>"$asked"
[ -z "\$REFUSES" ] || { echo "sudo: you may not" >&2; exit 1; }
END
chmod 755 "$dir/sudo/sudo"

# door PATH DOOR ARGUMENT...: as nobody; what sudo was asked is in $asked
door() {
	what="(by $2, not by soprof) ${*:3}"
	rm -f "$asked"
	# shellcheck disable=SC2086 # MORE: words
	(cd / && exec setpriv --reuid 65534 --regid 65534 --clear-groups env -u SOPROF_BUILD -u SOPROF_SOURCE -u SOPROF_TEST -u SOPROF -u CI \
		PATH="$1" HOME="$dir/home" TMPDIR="$dir/home" REFUSES="${REFUSES:-}" ${MORE:-} "$tree/$2" "${@:3}") >"$out" 2>"$err" </dev/null
	status=$?
	touch "$asked"
}
some=$dir/sudo:$dir/none none=$dir/none
asks() { # ARGUMENT...: sudo runs soprof
	door "$some" run "$@"
	[ "$(cat "$asked")" = "-- true
-- $tree/build/soprof $*" ] || fail "sudo to be asked, not: $(cat "$asked")"
}
asks_not() { # CODE ARGUMENT...
	door "$some" run "${@:2}"
	[ ! -s "$asked" ] || fail "sudo not to be asked: $(cat "$asked")"
	[ "$status" = "$1" ] || fail "exit code $1"
}
asks profile 10
asks profile -p 1 -o out.svg 30
asks top
asks libs --stale
asks agent
asks_not 0 --version
asks_not 0
asks_not 0 profile --help
asks_not 7 calls --no-times libc.so.6 -- sh -c 'exit 7'
asks_not 1 report "$dir/none.pb.gz"
door "$some" run doctor
[ ! -s "$asked" ] || fail "doctor to speak of who asks"
asks_not 1 agent --status --socket "$dir/none.sock"
asks_not 1 top --agent --batch --socket "$dir/none.sock"
door "$some" run profile -- sh -c 'id -u >&2'
[ ! -s "$asked" ] || fail "that a command does not become root's"

# refused, or not there: as who asked
REFUSES=1 door "$some" run libs --help
[ "$status" = 0 ] || fail "help without sudo"
REFUSES=1 door "$some" run profile 1
[ "$(cat "$asked")" = '-- true' ] || fail "sudo to be asked once"
has "$err" '^sudo: you may not$'
has "$err" '^soprof: (profile: cannot sample|sampling by)'
door "$none" run profile 1
has "$err" '^soprof: (profile: cannot sample|sampling by)'

# packages
echo 'build: soprof-no-such-package gcc soprof-no-other' >>"$tree/tools/packages"
door "$none" run profile 10
[ "$status" = 1 ] || fail "exit code 1"
one_line '^soprof: packages are missing, .*root must install them: apt-get install --no-install-recommends soprof-no-other soprof-no-such-package$'
REFUSES=1 door "$some" run profile 10
[ "$status" = 1 ] && [ "$(cat "$asked")" = '-- true' ] || fail "sudo to be asked once"
has "$err" 'root must install them: apt-get install .* soprof-no-such-package$'
door "$some" run --version
has "$asked" '^-- apt-get update '
has "$asked" '^-- env DEBIAN_FRONTEND=noninteractive apt-get install .* soprof-no-other soprof-no-such-package$'
[ "$(cut -d' ' -f2 "$asked" | paste -sd' ')" = 'true apt-get env' ] || fail "nothing else asked of sudo: $(cat "$asked")"
sed -i '$d' "$tree/tools/packages"

# ./test goes on as root, with what it was told
unset SOPROF_FILTER SOPROF_CAN_PROFILE
MORE="CI=true SOPROF_VM_TESTS=boot,jit" door "$some" test vm
[ "$(cat "$asked")" = "-- true
-- env CI=true SOPROF_VM_TESTS=boot,jit $tree/test vm" ] || fail "./test to be run by sudo: $(cat "$asked")"

# root needs no sudo
what="by ./run, as root, without sudo"
PATH=$none "$source/run" --version >"$out" 2>"$err" || fail "a version"
has "$out" '^soprof [0-9]'
PATH=$none "$source/run" profile -F 99 1 >"$out" 2>"$err" </dev/null ||
	grep -q 'soprof: profile: ' "$err" || fail "a profile, or soprof's own reason" # a container's kernel may refuse
finish
