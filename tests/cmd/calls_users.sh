#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# beside others
# soprof calls from a build in a directory that others may not enter, as root's home: programs of other users that the command
# starts say nothing of it, run, and are told of. Root's have the library from a copy where nobody else can put another, which
# is there for who goes on when soprof has ended. /run and /var/cache are the test's own.
. "$(dirname "$0")/lib.bash"
mkdir -m 700 "$dir/home" && mkdir "$dir/home/src" && cp "$SOPROF" "$dir/home/soprof" && cp -r "$SOPROF_BUILD/src/audit" "$dir/home/src"
export XDG_STATE_HOME=$dir/state
if ! is_root; then
	SOPROF=$dir/home/soprof expect 0 calls --no-times -n 1 libc.so.6 -- env
	has "$out" "^LD_AUDIT=$dir/home/src/audit/"
	finish
fi
if [ -z "${SOPROF_USERS:-}" ]; then
	unshare --mount true 2>/dev/null || skip "namespaces cannot be made here"
	rm -rf "$dir"
	trap - EXIT
	SOPROF_USERS=1 exec unshare --mount bash "$0"
fi
mount -t tmpfs -o mode=755 tmpfs /run && mount -t tmpfs -o mode=755 tmpfs /var/cache || skip "nothing can be mounted"
SOPROF=$dir/home/soprof
nobody=(setpriv --reuid 65534 --regid 65534 --clear-groups)

# others PLACE OPTION...: four programs of nobody's, which have their library from PLACE
others() {
	expect 0 calls "${@:2}" --csv -o "$dir/calls.csv" libc.so.6 -- "${nobody[@]}" bash -c \
		'env; ls -ld "${LD_AUDIT%%/\$LIB*}" "${LD_AUDIT%%/soprof-calls/*}/soprof-calls"; /bin/echo err >&2'
	! grep -q 'ld\.so' "$err" || fail "nothing of ld.so's"
	has "$err" '^err$'
	says '^err soprof: 4 (programs ran uncounted|of 5 programs that ran were not counted): .* soprof: (at least )?[0-9]+ calls by 1 program' # bash, env, ls, echo
	library=$(sed -n 's/^LD_AUDIT=//p' "$out") marker=$(sed -n 's/^SOPROF_UNCOUNTED=//p' "$out")
	[[ $library == "$1"/soprof-calls/* ]] || fail "the library from a copy in $1, not $library"
	! grep -E '^d' "$out" | grep -vqE '^drwxr-xr-x +[0-9]+ root root ' || fail "directories to which only root writes"
	[ -n "$marker" ] && [ ! -e "${marker%/*}" ] || fail "that nothing of the run is left"
}
(umask 077 && others /run --no-times && exit "$n_failed") || fail "copies that all may read, whatever the umask is"
others /run
[ "$(cd /run && echo soprof-calls* soprof-calls/*)" = "soprof-calls $(cd /run && echo soprof-calls/?*)" ] &&
	[ "$(ls /run/soprof-calls | wc -l)" = 1 ] || fail "one copy, and nothing else in /run"

# what goes on when soprof has ended, and starts another program then
mkfifo "$dir/fifo"
expect 0 calls --no-times -n 1 libc.so.6 -- bash -c '(read -r _ <"$1"; exec /bin/echo last) >"$1.out" 2>&1 &' bash "$dir/fifo"
echo >"$dir/fifo"
for _ in $(seq 300); do grep -qs . "$dir/fifo.out" && break; sleep 0.1; done
[ "$(cat "$dir/fifo.out")" = last ] || fail "a program that starts after the end of soprof, without a word: $(cat "$dir/fifo.out")"

# who counts already counts for the inner one only
expect 0 calls --no-times -n 1 libc.so.6 -- "$SOPROF" calls --no-times -n 1 libc.so.6 -- env
[[ $(sed -n 's/^LD_AUDIT=//p' "$out") == /run/soprof-calls/* && $(sed -n 's/^LD_AUDIT=//p' "$out") != *:* ]] ||
	fail "one auditor of ours: $(grep LD_AUDIT "$out")"

# nothing may be run from /run; others can write to both; only what can be read by all is given as it is
mount -o remount,noexec /run
others /var/cache --no-times
rm -r /run/soprof-calls /var/cache/soprof-calls
chmod 1777 /run /var/cache
expect 0 calls --no-times -n 1 libc.so.6 -- true
has "$err" "^soprof: programs of other users will complain that they cannot load $dir/home/src/audit/calls.so: .*: Permission denied"
[ -z "$(ls /run /var/cache | grep soprof-calls)" ] || fail "nothing where others can make names"
chmod 755 "$dir/home"
expect 0 calls --no-times -n 1 libc.so.6 -- env
has "$out" "^LD_AUDIT=$dir/home/src/audit/"
finish
