#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# deadline: 200
# Containers made by hand: chroots, overlays, mount namespaces; a file is the one that is mapped, never another that has
# its path here; copies of a library share one table; containers, cgroups and users as keys.
. "$(dirname "$0")/lib.bash"
need_root
need_profile
command -v unshare >/dev/null && unshare --mount true 2>/dev/null || skip "no namespaces here"
test_name() { say "-- $1"; }
# make_root DIR: what a dynamic program needs, and the program /plain/recursion
make_root() {
	mkdir -p "$1/lib64" "$1/lib/x86_64-linux-gnu" "$1/plain" "$1/tmp"
	cp -L /lib64/ld-linux-x86-64.so.2 "$1/lib64/"
	cp -L /lib/x86_64-linux-gnu/libc.so.6 "$1/lib/x86_64-linux-gnu/"
	cp "$victims/plain/recursion" "$1/plain/"
}
pids=()
run_in() { # run_in ROOT: the program in a chroot, in the background
	chroot "$1" /plain/recursion 600 20 </dev/null >/dev/null 2>&1 &
	pids+=($!)
}
end_all() {
	kill -KILL "${pids[@]}" 2>/dev/null
	wait "${pids[@]}" 2>/dev/null
	pids=()
}
list() { (IFS=,; echo "${pids[*]}"); }
# the row with this name in the table that is in $out: its share
has_row() { grep -qE "^ *[0-9.]+ .*  $1\$" "$out" || fail "a row $1 in: $(tr '\n' '|' <"$out")"; }

test_name 'twelve chroots with copies of the libraries share their tables'
for n in $(seq 12); do
	make_root "$dir/root$n"
	run_in "$dir/root$n"
done
wait_working "${pids[@]}"
expect 0 profile -U -f -F $((slow > 1 ? 199 : 999)) --max-memory 1M -p "$(list)" $((slow > 1 ? 2 * seconds : seconds))
# a libc alone has some 110 KiB of table: twelve of them do not fit
has_not "$err" '^tables'
check_victim plain recursion --comm recursion --samples 40 --complete 99 --deepest even,odd=20
end_all

test_name 'overlays over one directory, and one that has changed a file'
if mkdir -p "$dir/mnt/"{up,work,top} &&
	mount -t overlay overlay -o "lowerdir=$dir/root1,upperdir=$dir/mnt/up,workdir=$dir/mnt/work" "$dir/mnt/top" 2>/dev/null; then
	for n in 2 3 4; do
		mkdir "$dir/mnt/$n" && mount -t overlay overlay -o "lowerdir=$dir/root1:$dir/root2" "$dir/mnt/$n"
		run_in "$dir/mnt/$n"
	done
	cp "$victims/stripped/callback" "$dir/mnt/top/plain/recursion" # copied up
	run_in "$dir/mnt/top"
	wait_working "${pids[@]}"
	at_ease "${pids[@]}"
	upper=${pids[3]}
	unset 'pids[3]'
	expect 0 profile -U -f -F 399 -p "$(list)" $seconds
	check_victim plain recursion --comm recursion --samples 10 --complete 99 --deepest even,odd=20
	expect 0 profile -U -f -F 399 -p "$upper" $seconds
	sed 's/^recursion;/callback;/; s/;recursion+/;callback+/g' "$out" >"$dir/upper" && cp "$dir/upper" "$out"
	check_victim stripped callback --samples 10 --complete 99
	pids+=("$upper")
	end_all
	umount "$dir/mnt/"{2,3,4,top}
else
	say "no overlays here"
fi

test_name 'an overlay that a user has mounted: the file below it is opened'
mkdir -p "$dir/mnt/user"
cat >"$dir/enter" <<'X'
mount -t overlay overlay -o "lowerdir=$1/root1:$1/root2" "$1/mnt/user" && exec chroot "$1/mnt/user" "${@:2}"
X
of_user=(unshare --user --map-root-user --mount bash "$dir/enter" "$dir" /plain/recursion)
if [[ $(stat -f -c %T "$dir") != @(ext2/ext3|xfs|btrfs) ]] || ! "${of_user[@]}" 0 2>/dev/null; then
	say "no overlays of users here, or no files by their inode"
else
	"${of_user[@]}" 600 20 </dev/null >/dev/null 2>&1 &
	pids+=($!)
	wait_working "${pids[@]}"
	at_ease "${pids[@]}"
	expect 0 profile -U -f -F 399 -p "$(list)" $seconds
	check_victim plain recursion --comm recursion --samples 10 --complete 99 --deepest even,odd=20
	has_not "$err" 'not trusted'
	end_all
fi

test_name 'a mount namespace in which the same path is another file'
mkdir -p "$dir/over"
cp "$victims/plain/callback" "$dir/over/recursion" # what is there for us
cat >"$dir/enter" <<'X'
mount -t tmpfs none "$1/over" && cp "$2" "$1/over/recursion" && exec "$1/over/recursion" 600 20
X
unshare --mount bash "$dir/enter" "$dir" "$victims/stripped/recursion" </dev/null >/dev/null 2>&1 &
pids=($!)
wait_working "${pids[@]}"
at_ease "${pids[@]}"
expect 0 profile -U -f -F 399 -p "$(list)" $seconds
check_victim stripped recursion --samples 10 --complete 99 --deepest even,odd=20
end_all

test_name 'a bind mount over the path of a running program'
cp "$victims/stripped/recursion" "$dir/over/bound"
"$dir/over/bound" 600 20 </dev/null >/dev/null 2>&1 &
pids=($!)
wait_working "${pids[@]}"
at_ease "${pids[@]}"
mount --bind "$victims/plain/callback" "$dir/over/bound"
expect 0 profile -U -f -F 399 -p "$(list)" $seconds
sed 's/^bound;/recursion;/; s/;bound+/;recursion+/g' "$out" >"$dir/bound" && cp "$dir/bound" "$out"
check_victim stripped recursion --samples 10 --complete 99 --deepest even,odd=20
umount "$dir/over/bound"
end_all

test_name 'a container that has gone, with its files, before anything is printed'
cat >"$dir/enter" <<'X'
mount -t tmpfs none "$1/over" && cp "$2" "$1/over/recursion" && "$1/over/recursion" "$3" 20
X
expect 0 profile -U -f -F 199 -- unshare --mount --pid --fork bash "$dir/enter" "$dir" "$victims/plain/recursion" "$seconds"
grep '^recursion;' "$out" >"$dir/recursion"
cp "$dir/recursion" "$out"
check_victim plain recursion --samples 10 --complete 97 --deepest even,odd=20

test_name 'containers, cgroups and users as keys'
id=0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef
mount=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts) top=soprof-test-$$
odd=$'odd;q"\e[31m<x> 9'
if [ -n "$mount" ] && mkdir "$mount/$top" 2>/dev/null; then
	groups=("$top/docker-$id.scope" "$top/lxc.payload.web1" "$top/$odd" "$top/short")
	for group in "${groups[@]}"; do
		mkdir "$mount/$group"
	done
	start plain recursion 600 20
	echo "$pid" >"$mount/${groups[0]}/cgroup.procs"
	pids+=("$pid")
	cp "$victims/plain/recursion" "$dir/" # nobody may not reach the build directory
	chmod 755 "$dir/recursion"
	setpriv --reuid 65534 --regid 65534 --clear-groups "$dir/recursion" 600 20 </dev/null >/dev/null 2>&1 &
	echo $! >"$mount/${groups[1]}/cgroup.procs"
	pids+=($!)
	start plain recursion 600 20
	echo "$pid" >"$mount/${groups[2]}/cgroup.procs"
	pids+=("$pid")
	wait_working "${pids[@]}"
	at_ease "${pids[@]}"
	expect 0 profile -F 199 --by container --cgroup "/$top" $seconds
	has_row 'web1'
	expect 0 profile -f -F 199 --cgroup "$mount/$top/lxc.payload.web1" $seconds
	[ "$(samples)" -gt 0 ] || fail "samples of the cgroup"
	expect 0 profile -F 199 -o "$dir/x.pb.gz" -p "$(list)" $seconds
	for by in container cgroup user; do
		expect 0 report --by $by "$dir/x.pb.gz"
		case $by in
		container)
			has_row '0123456789ab'
			has_row web1
			has_row '\[no container\]'
			;;
		cgroup)
			has_row "/$top/docker-$id.scope"
			has_row "/$top/lxc.payload.web1"
			has_row "/$top/odd;q\"\\\\x1b\\[31m<x> 9"
			;;
		user)
			has_row 65534
			has_row 0
			;;
		esac
	done
	end_all
	# one that is removed before anything is printed; a command enters it
	expect 0 profile -F 199 --by cgroup -- bash -c "sh -c 'echo \$\$ >\"$mount/$top/short/cgroup.procs\"; exec \"$victims/plain/recursion\" $((2 * seconds))'; rmdir '$mount/$top/short'"
	has_row "/$top/short"
	[ ! -e "$mount/$top/short" ] || fail "the cgroup to be gone"
	rmdir "$mount/$top"/*/ "$mount/$top"
else
	say "no cgroup2 that can be written here"
fi
finish
