#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# beside others
# deadline: 90
# In a chroot whose root is no mount point, so that no list of mounts tells of it, what has ended keeps its names: the
# chroot's own programs and, without a path, since theirs leads nowhere in there, those outside of it.
. "$(dirname "$0")/lib.bash"
need_root
need_profile
unshare --mount true 2>/dev/null || skip "no namespaces here"
[ "$(stat -f -c %T "$dir")" != tmpfs ] || skip "$dir is on tmpfs, where no file is found by its inode"
root=$dir/root inside=in$$ outside=out$$ # names that nobody else's processes have
mkdir -p "$root/"{proc,sys,tmp,bin}
cp "$SOPROF" "$(type -P bash)" "$(type -P chroot)" "$root/bin/"
cp "$victims/plain/recursion" "$root/$inside"
cp "$victims/plain/callback" "$dir/$outside"
ldd "$root/bin/"* "$root/$inside" | grep -oE '/[^ :)]+\.so[^ :)]*' | sort -u | while IFS= read -r library; do
	mkdir -p "$root${library%/*}"
	cp -L "$library" "$root$library"
done
cat >"$dir/enter" <<'END'
mount -t proc proc "$1/proc" && mount -t sysfs sysfs "$1/sys" && exec chroot "$@"
END

# The profiler stands still while they run: they have gone before it opens anything. The ring has room for the copies of all
# of their stacks meanwhile.
mkfifo "$root/go"
what='profile (in a chroot, stopped while its victims run)'
unshare --mount bash "$dir/enter" "$root" /bin/soprof profile -U -F 79 -o /p.pb.gz -- /bin/bash -c "read -r <go
	/$inside 0.6cpu 40; /bin/chroot /proc/$$/root $dir/$outside 0.6cpu; : >over" >"$out" 2>"$err" </dev/null &
profiler=$!
wait_sampling $profiler || finish
exec {go}>"$root/go" # the command runs: the profiler has let it go
kill -STOP $profiler
echo >&$go
exec {go}>&-
until [ -e "$root/over" ] || ! kill -0 $profiler; do sleep 0.1; done
kill -CONT $profiler
wait $profiler || fail "exit code 0"
expect 0 report --format folded "$root/p.pb.gz"
check_victim plain recursion --comm "$inside" --samples 10 --complete 97 --deepest even,odd=40
check_victim plain callback --comm "$outside" --samples 10 --complete 97
expect 0 report --csv "$root/p.pb.gz"
has "$out" "^library,$inside,$inside,/$inside,"
has "$out" "^library,$outside,$outside,,"
finish
