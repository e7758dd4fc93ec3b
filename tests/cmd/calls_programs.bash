# SPDX-License-Identifier: GPL-2.0-or-later
# calls_programs.bash: programs of Debian packages that must not notice that their calls are counted. Sourced.
#   programs: lines NAME|NEEDS|COMMAND, run by bash in an empty directory
#   reference NAME COMMAND   runs it plainly; $n_plain times: what differs between these is not compared, and is said
#   compare HOW              the same, counted into $file: output, errors, exit code and what it wrote must be the same
#   compare_at_once HOW      two of these at the same time; root only
#   compare_all PATTERN      once each, all whose NAME matches and whose NEEDS are there; n_run counts runs
# Root's are run in namespaces of their own: ports, numbers of processes and places are the same each time.
# What any auditor does to programs, also one that does nothing: valgrind's memcheck, when it makes libc free all that it has
# at exit, sees ld.so's own blocks among that.
n_run=0
left_out=()
six=(libc.so.6 libstdc++.so.6 libcrypto.so.3 libz.so.1 libm.so.6 libsqlite3.so.0)

programs() {
	cat <<'PROGRAMS'
ls|ls|mkdir a b; touch -d 2020-01-01 a b; ls -la --time-style=+%Y a b | grep -v total; ls -lR /etc/apt; ls nowhere
bash|bash|(exit 3); echo $?; cat <(echo a) <(seq 3); for i in 1 2 3; do echo $i & wait; done; a=(1 2); echo "${a[@]/1/x}" | tr x y; trap 'echo bye' EXIT; kill -TERM $BASHPID
dash|dash|dash -c 'x=$(seq 5 | while read n; do echo $((n * n)); done); echo "$x"; false'
python|python3|python3 -c 'import json, hashlib, threading, subprocess, zlib, decimal, re; print(json.dumps({"a": [1, 2.5]}), hashlib.sha256(b"x").hexdigest(), zlib.crc32(b"abc")); t = [threading.Thread(target=lambda: hashlib.md5(b"y" * 100000).hexdigest()) for _ in range(4)]; [x.start() for x in t]; [x.join() for x in t]; print(subprocess.run(["seq", "3"], capture_output=True).stdout, decimal.Decimal(2).sqrt())'
python-ctypes|python3|python3 -c 'from ctypes import *; libc = CDLL("libc.so.6"); f = CFUNCTYPE(c_int, POINTER(c_int), POINTER(c_int)); a = (c_int * 5)(5, 1, 4, 2, 3); libc.qsort(a, 5, 4, f(lambda x, y: x[0] - y[0])); print(list(a)); libc.printf(b"%d %s %g\n", 3, b"x", c_double(0.5)); libc.strlen.restype = c_size_t; print(libc.strlen(b"four"))'
python-processes|python3|python3 -c 'import multiprocessing as m; p = m.Pool(3); print(p.map(abs, range(-5, 5))); p.close(); p.join()'
python-error|python3|python3 -c 'import sys; print(1 / 0)'
perl|perl|perl -e 'my %h; $h{$_ % 97} .= chr(65 + $_ % 26) for 1..20000; print length(join "", map { $h{$_} } sort { $a <=> $b } keys %h), "\n"; $_ = "a1b22"; s/(\d+)/<$1>/g; print "$_\n"; open(F, "<", "nowhere") or print "$!\n"; my $p = fork; if (!$p) { exit 5 } waitpid $p, 0; print $? >> 8, "\n"; eval { die "x\n" }; print $@'
node|node|node -e 'const z = require("zlib"), c = require("crypto"); console.log(z.gunzipSync(z.gzipSync("abc")).toString(), c.createHash("sha1").update("x").digest("hex"), [3, 1, 2].sort()); setTimeout(() => process.exit(4), 10)'
npm|npm|HOME=$PWD npm --version
openssl|openssl|openssl dgst -sha256 /etc/debian_version; seq 1000 | openssl enc -aes-128-cbc -pass pass:x -nosalt -pbkdf2 | openssl enc -d -aes-128-cbc -pass pass:x -nosalt -pbkdf2 | md5sum; openssl nowhere
sqlite|sqlite3|sqlite3 a.db 'create table t(a, b); with recursive n(i) as (select 1 union all select i + 1 from n where i < 5000) insert into t select i, hex(i * i) from n; create index x on t(b); select count(*), sum(a), max(b), group_concat(a) from t where a % 1000 = 7; select * from nowhere;'
git|git|export GIT_CONFIG_GLOBAL=/dev/null GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b GIT_AUTHOR_DATE='2020-01-01 00:00 +0000' GIT_COMMITTER_DATE='2020-01-01 00:00 +0000'; git init -q -b m .; seq 1000 >f; git add f; git commit -qm one; seq 2000 >f; git commit -qam two; git log --format=%H; git diff --stat HEAD~1; git fsck --no-progress; git gc -q; git status --short; git checkout nowhere; rm .git/index
gcc|gcc|printf '#include <stdio.h>\nint main(void) { puts("hello"); return 6; }\n' >a.c; gcc -O2 -Wall a.c -o a && ./a; echo $?; echo 'int x = ;' >b.c; LC_ALL=C gcc -c b.c
g++|g++|printf '#include <iostream>\n#include <stdexcept>\n#include <map>\nint main() { std::map<int, std::string> m; for (int i = 0; i < 100; i++) try { if (i %% 3) throw std::runtime_error("x"); m[i] = "y"; } catch (const std::exception &e) { m[i] = e.what(); } std::cout << m.size() << m[4] << m[3] << std::endl; throw 5; }\n' >a.cc; g++ -O1 a.cc -o a; (./a 2>err; echo $?) 2>/dev/null; cat err
clang|clang|printf 'int f(int x) { return x + 1; }\n' >a.c; clang -O2 -S -o - a.c | grep -c add; clang -c nowhere.c
make|make|printf 'all: a b c\n%%:\n\t@echo $@ >$@; cat $@ >>log\nc: a b\n\t@sort log; false\n' >Makefile; make -s -j2 --output-sync; rm log
tar|tar|seq 100000 >f; touch -d 2020-01-01 f; tar --mtime=2020-01-01 --owner=0 --group=0 --numeric-owner -czf - f | gzip -dc | md5sum; tar -cf a.tar f; tar -tvf a.tar --full-time nowhere | cut -c 1-10; bzip2 -c f | bunzip2 | cksum
xz|xz|seq 300000 | xz -T2 -1 --block-size=200000 | xz -dc | md5sum; echo x | xz -dc
zstd|zstd|seq 300000 | zstd -T2 -q | zstd -dcq | md5sum; echo x | zstd -dcq
text|sed|seq 20000 | awk '{ s += $1 * $1; n[$1 % 7]++ } END { printf "%.0f %d\n", s, n[3] }'; seq 3000 | sed -n 's/7\(.\)/<\1>/gp' | sort -r | uniq -c | tail -n 3; seq 50 | paste -sd, | fold -w 30 | nl | rev | tac | cut -c 2-9 | comm -12 - /dev/null; printf 'b\na\n' | sort -c
sort-random|sort|seq 5000 | sort -R --random-source=/etc/services | md5sum; seq 60000 | LC_ALL=C sort -S 1M --parallel=2 -k 1.2 | md5sum
xargs|xargs|seq 20 >f; cp f g; find . -type f -print0 | sort -z | xargs -0 -P 2 -n 1 md5sum | sort; find nowhere
curl|curl|echo hello >f; curl -s file://$PWD/f; curl -sS http://127.0.0.1:1/ 2>&1 | sed 's/after [0-9]* ms//'; curl --version | head -n 1; wget --version | head -n 1
gdb|gdb|gdb -nx -q -batch -iex 'set debuginfod enabled off' -ex 'print 6 * 7' -ex 'info line main' /bin/true
gdb-run|gdb|gdb -nx -q -batch -iex 'set debuginfod enabled off' -ex 'set startup-with-shell off' -ex 'break exit' -ex run -ex 'bt 1' -ex 'stepi 40' -ex continue /bin/true | sed 's/0x[0-9a-f]*//g' | grep -v -e 'Breakpoint 1' -e '^#' -e 'Inferior'
strace|strace|strace -f -o /dev/null -e trace=write sh -c 'echo traced; exit 5'
valgrind|valgrind|valgrind -q --run-libc-freeres=no --error-exitcode=9 /bin/echo under; valgrind -q --tool=none /bin/false
perf|perf|perf --version; perf stat -x, -e task-clock true 2>&1 | wc -l
java|java|java -XX:-UsePerfData -version; java -XX:-UsePerfData nowhere
names|getent|getent passwd root; getent hosts localhost; locale; date -d @0 -u; echo äö | iconv -f utf8 -t latin1 | od -c; TZ=Europe/Berlin date -d @86400; LC_ALL=de_DE.UTF-8 date -d @0 +%A
coreutils|stat|uname -m; id; stat -c %A /; md5sum /etc/services; sha512sum /etc/services; factor 123456789; expr 3 + 4; numfmt --to=iec 123456; basename /a/b; timeout 0.2 sleep 5; nice -n 3 nice; env -i printf 'x%03d\n' 7; seq 5 | shuf --random-source=/etc/services; base64 /etc/debian_version; dd if=/dev/zero bs=1k count=3 status=none | wc -c
dpkg|dpkg|dpkg-query -W -f '${Package}\n' | tail -n 3; dpkg -S /bin/true; dpkg --compare-versions 1.0 lt 1.1; dpkg -L nowhere
apt|apt-cache|apt-cache --no-generate policy bash | head -n 2; apt-cache depends coreutils | head -n 5
binutils|readelf|readelf -hW /bin/true; objdump -d /bin/true | md5sum; nm -D /bin/true | tail -n 3; readelf -n nowhere
file|file|file -b /bin/true /etc/passwd; file --version | head -n 1
man|man|MANWIDTH=70 man -P cat -l <(printf '.TH A 1\n.SH NAME\na \\- b\n'); man nowhere; echo 'a' | groff -Tascii | head -n 1
xml|xmllint|echo '<a><b>1</b></a>' | xmllint --xpath '//b/text()' -; echo '<a>' | xmllint -
bc|bc|echo '2^100; scale=10; e(1); 1/0' | bc -l
jq|jq|echo '{"a": [3, 1]}' | jq -c '.a | sort, length'; echo '{' | jq .
vim|vim|seq 5 >f; vim -u NONE -n -es -c '%s/3/x/' -c wq f; cat f
ed|ed|printf 'a\nx\n.\n1p\nq\nQ\n' | ed -s f
tcl|tclsh|echo 'puts [expr {6 * 7}]; puts [lsort {b a}]; nowhere' | tclsh
gpg|gpg|HOME=$PWD gpg --batch --quiet --list-keys 2>&1 | wc -l; echo x | gpg --batch --no-options --homedir . --print-md sha256; rm -r .gnupg pubring.kbx trustdb.gpg
ssh|ssh|ssh -V; ssh -o BatchMode=yes -p 1 127.0.0.1 true
cmake|cmake|cmake -E md5sum /etc/services; cmake -P nowhere.cmake
meson|meson|meson --version; ninja -C nowhere
qemu|qemu-system-x86_64|qemu-system-x86_64 --version | head -n 1; qemu-system-x86_64 -machine help | wc -l
rust|rustc|echo 'fn main() { let v: Vec<u32> = (1..5).collect(); println!("{}", v.iter().sum::<u32>()); std::thread::spawn(|| panic!("x")).join().unwrap_err(); }' >a.rs; rustc -O a.rs -o a 2>&1 && ./a 2>/dev/null; echo $?
go|go|printf 'package main\n\nimport "fmt"\n\nfunc main() { fmt.Println(6 * 7) }\n' >a.go; HOME=$PWD GOCACHE=$PWD/c GOTOOLCHAIN=local go run a.go; rm -r c
ps|ps|ps -o comm= -p 1; top -b -n 1 | wc -w | grep -c .; less -FX /etc/debian_version </dev/null
patch|patch|seq 9 >a; sed s/5/x/ a >b; diff -u a b | sed 1,2d >p; (echo '--- a'; echo '+++ a'; cat p) | patch -p0; cat a; cmp a b; diff a nowhere
zip|zip|seq 1000 >f; zip -qX a.zip f; unzip -p a.zip | cksum; unzip -q nowhere.zip; lz4 -qc f | lz4 -dqc | cksum
setuid|su|su --version; passwd -S root | cut -d ' ' -f 1; mount --version
exec-static|bash|exec "$still"
limits|bash|ulimit -n 30; ulimit -v 2000000; ulimit -f 100; exec 3>&- 4>&-; python3 -c 'import os; print(os.listdir("/proc/self/fd")); r, w = os.pipe(); print(r, w); os.closerange(3, 30); print(os.open("/dev/null", 0))'
seccomp|python3|python3 -c 'import ctypes, os; libc = ctypes.CDLL("libc.so.6"); print(libc.prctl(38, 1, 0, 0, 0)); libc.prctl(22, 1); os.write(1, b"strict\n"); ctypes.CDLL(None).syscall(60, 3)'
PROGRAMS
}

alone=()
own=(unshare --mount --net --ipc --pid --fork --kill-child --mount-proc)
if is_root && "${own[@]}" ip link set lo up 2>/dev/null; then
	alone=("${own[@]}")
fi
# What a run leaves: names, modes, links and contents; no times.
run_alone='[ -z "$4" ] || {
		ip link set lo up && mount --bind "$1" "$2" && mount --bind "$1.tmp" "$TMPDIR" && mount -t tmpfs tmpfs /dev/shm
	} || exit
	cd "$2" && timeout -k 5 "$3" env "${@:6}" bash -c "$5"
	code=$?
	{
		find . -mindepth 1 -printf "%p %M %l\n"
		find . -type f -exec cksum {} + | sed "s/^\([0-9]* [0-9]*\) \(.*\)/\2 \1/"
	} 2>/dev/null | sort >"$1.files"
	exit $code'
run_in() { # PLACE COMMAND [VARIABLE=VALUE]...: $dir/PLACE.out, .err, .code, .files, and what it wrote
	local place=$dir/$1 at=$dir/w
	[ -n "${alone[*]}" ] || at=$place
	rm -rf "$place" "$place.tmp" "$place.files"
	mkdir -p "$place" "$place.tmp" "$dir/w" "$dir/tmp"
	TMPDIR=$dir/tmp "${alone[@]}" bash -c "$run_alone" - "$place" "$at" "$deadline" "${alone[*]}" "${@:2}" </dev/null >"$place.out" \
		2>"$place.err" 3>&- 9>&-
	echo $? >"$place.code"
	[ -e "$place.files" ] && [ "$(cat "$place.code")" != 124 ] || { what=$name; fail "a run that ends ($1)"; }
	[ "$at" = "$dir/w" ] || sed -i "s|$place|$dir/w|g" "$place.out" "$place.err"
}

differences() { # PLACE PLACE: code, out, err, ./FILE
	local kind
	for kind in code out err; do
		cmp -s "$dir/$1.$kind" "$dir/$2.$kind" || echo $kind
	done
	diff "$dir/$1.files" "$dir/$2.files" | sed -n 's/^[<>] \([^ ]*\).*/\1/p' | sort -u
}
unequal() { differences plain "$1" | grep -vxF -e "$varies"; }

reference() {
	local i
	name=$1 command=$2 varies=nothing
	run_in plain "$command"
	for ((i = 1; i < n_plain; i++)); do plain_again; done
}
plain_again() {
	local more
	run_in again "$command"
	more=$(unequal again)
	[ -z "$more" ] || { varies+=$'\n'$more; varying+=("$name:${more//$'\n'/,}"); }
}

judge() { # HOW PLACE
	local one try
	n_run=$((n_run + 1))
	for try in 1 2 3; do
		[ -z "$(unequal "$2")" ] || plain_again # it may vary more seldom than in each second run
	done
	what="$name, $1"
	status=$(cat "$dir/$2.code")
	for one in $(unequal "$2"); do
		case $one in ./*) file_of=$one ;; *) file_of=.$one ;; esac
		diff "$dir/plain$file_of" "$dir/$2$file_of" 2>&1 | head -n 8
		fail "the same ${one/#out/output}"
	done
}
compare() {
	run_in counted "$command" LD_AUDIT="$audit" SOPROF_CALLS="$file"
	judge "$1" counted
}
compare_at_once() {
	run_in first "$command" LD_AUDIT="$audit" SOPROF_CALLS="$file" &
	run_in second "$command" LD_AUDIT="$audit" SOPROF_CALLS="$file"
	wait $!
	judge "$1" first
	judge "$1" second
}

compare_all() {
	local needs
	while IFS='|' read -r -u 9 name needs command; do
		[[ $name =~ ^($1)$ ]] || continue
		command -v "$needs" >/dev/null || { left_out+=("$name"); continue; }
		reference "$name" "$command"
		compare counted
	done 9< <(programs)
}
export LC_ALL=C.UTF-8 HOME=/root still=$victims/calls/now/still
deadline=$((60 * slow)) n_plain=1 varying=()
