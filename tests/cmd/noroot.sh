#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# deadline: 150
# Without privileges: one's own programs, by perf_event_open and the unwinder of the user half, with the same results.
. "$(dirname "$0")/lib.bash"
need_root
level=/proc/sys/kernel/perf_event_paranoid
before=$(cat "$level")
real=$SOPROF
mkdir "$dir/own" "$dir/cache" && cp "$SOPROF" "$dir/own/soprof" && cp -r "$victims" "$dir/own/victims"
chmod -R go+rX "$dir/own" && chown nobody "$dir/cache"

# soprof as nobody, in a directory that nobody can reach, instead of the one built
cat >"$dir/as-nobody" <<EOF
#!/bin/bash
cd / && exec setpriv --reuid 65534 --regid 65534 --clear-groups --bounding-set -all --inh-caps -all \\
	env XDG_CACHE_HOME=$dir/cache $dir/own/soprof "\$@"
EOF
chmod 755 "$dir/as-nobody"
SOPROF=$dir/as-nobody victims=$dir/own/victims
restore() { echo "$before" >"$level"; }
trap 'restore; leave' EXIT

echo 2 >"$level"
run profile -F 99 -- true
[ "$status" != 3 ] || skip "$(tail -n 1 "$err")" # a container, say
says '^soprof: sampling by perf_event_open, since BPF needs CAP_BPF and CAP_PERFMON; time in the kernel is not seen'

for variant in plain stripped; do
	profile_victim $variant recursion --complete 99 --deepest even,odd=100 -- 100
	for name in callback vdso threads assembly plt lazy; do
		profile_victim $variant $name --complete 99 --
	done
done
# what does not fit in the copy of a stack is cut, and said: never a wrong caller
profile_victim plain frames --samples 10 --
profile_victim plain signals --samples 10 --
profile_victim stripped noeh --samples 10 --
finish
