#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# deadline: 1800
# Calls as counted and as uprobes at all functions of the library see them, in the same run (tests/cmd/entries.bash): more
# than 20 programs, some without a PLT, with loads of addresses out of loops, constructors, threads and forks.
. "$(dirname "$0")/../cmd/lib.bash"
. "$(dirname "$0")/../cmd/calls.bash"
. "$(dirname "$0")/../cmd/entries.bash"
need_root
export LC_ALL=C PYTHONHASHSEED=0 HOME=$dir
wanted=${1:-.*} left_out=()
mkdir "$dir/lib"
cd "$dir" || exit
seq 20000 >data

# program NAME LIBRARY COMMAND...: which loads a copy of the machine's library
program() {
	local name=$1 library=$2 from
	shift 2
	[[ $name =~ ^($wanted)$ ]] || return 0
	from=$(ldconfig -p | awk -v l="$library" '$1 == l && /x86-64/ { print $NF; exit }')
	[ -n "$from" ] && command -v "$1" >/dev/null || { left_out+=("$name"); return; }
	rm -rf "$dir/lib"/*
	cp -L "$from" "$dir/lib/$library"
	probed_equal "$name" "$dir/lib/$library" "$@"
}
python=(/usr/bin/python3 -S -c)
program zlib libz.so.1 "${python[@]}" 'import zlib; d = open("data", "rb").read(); c = zlib.compressobj(6); x = b"".join(c.compress(d[i:i+100]) for i in range(0, len(d), 100)) + c.flush(); zlib.crc32(d), zlib.adler32(d), zlib.decompress(x)'
program git libz.so.1 bash -c 'rm -rf r; git init -q r; cd r; cp ../data .; git add data; git -c user.name=a -c user.email=a@b commit -qm one; git gc -q; git fsck --no-progress'
program java libz.so.1 jar --create --file a.jar data
program xz-threads liblzma.so.5 xz -T2 -1 --block-size=20000 -c data
program bzip2 libbz2.so.1.0 bzip2 -c data
program sqlite libsqlite3.so.0 "${python[@]}" 'import sqlite3; c = sqlite3.connect(":memory:"); c.execute("create table t(a, b)"); c.executemany("insert into t values(?, ?)", ((i, str(i * i)) for i in range(2000))); c.create_function("f", 1, lambda x: x + 1); print(c.execute("select count(*), sum(f(a)), max(b) from t where a % 7 = 1").fetchall())'
program openssl libcrypto.so.3 bash -c 'openssl dgst -sha256 data; openssl enc -aes-128-cbc -pass pass:x -nosalt -pbkdf2 -in data | cksum; openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout k -out c -days 9 -subj /CN=a 2>/dev/null; openssl x509 -in c -noout -subject'
program tls libssl.so.3 /usr/bin/python3 -c 'import ssl, subprocess
a, b, c, d = (ssl.MemoryBIO() for _ in range(4))
subprocess.run("openssl req -x509 -newkey rsa:2048 -nodes -keyout k -out c -days 9 -subj /CN=a 2>/dev/null", shell=True)
s = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER); s.load_cert_chain("c", "k"); s = s.wrap_bio(a, b, server_side=True)
k = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT); k.check_hostname = False; k.verify_mode = ssl.CERT_NONE; k = k.wrap_bio(c, d)
for _ in range(4):
    for x in (k, s):
        try: x.do_handshake()
        except ssl.SSLWantReadError: pass
        a.write(d.read()); c.write(b.read())
for i in range(100):
    k.write(b"x" * 50); a.write(d.read()); s.read(50)
print(k.cipher())'
program xml libxml2.so.2 bash -c 'seq 500 | sed "s|.*|<b c=\"&\">&</b>|; 1i<a>
\$a</a>" >a.xml; xmllint --xpath "count(//b[@c > 7])" a.xml; xmllint --format a.xml | cksum; xmllint nowhere; true'
program curl libcurl.so.4 curl -s file://$dir/data
program pcre libpcre2-8.so.0 bash -c 'git grep --no-index -cP "7(?=8)" data'
program gmp libgmp.so.10 bash -c 'echo "double f(double x) { return __builtin_sin(1.5) * x + 0x1p70; } int g(int x) { int s = 0; for (int i = 0; i < 100; i++) s += x * i; return s; }" >a.c; gcc -O3 -c a.c'
program ncurses libtinfo.so.6 bash -c 'infocmp xterm; tput -T xterm cup 3 4; tput -T vt100 longname'
program expat libexpat.so.1 bash -c 'seq 300 | sed "s|.*|<b>&</b>|; 1i<a>
\$a</a>" >a.xml; gdb -nx -q -batch -iex "set debuginfod enabled off" -ex "info auxv" -ex "python import pyexpat; p = pyexpat.ParserCreate(); print(p.Parse(open(\"a.xml\").read()))" /bin/true'
program ctypes libffi.so.8 /usr/bin/python3 -c 'from ctypes import *; l = CDLL("libc.so.6"); f = CFUNCTYPE(c_int, POINTER(c_int), POINTER(c_int)); a = (c_int * 50)(*[i * 7 % 50 for i in range(50)]); l.qsort(a, 50, 4, f(lambda x, y: x[0] - y[0])); print([l.abs(-i) for i in range(50)] + list(a))'
program ruby libruby-3.1.so.3.1 ruby --disable-gems -e 'require "json"; require "digest"; puts JSON.generate((1..50).to_a), Digest::MD5.hexdigest("x"), 4.times.map { |i| Thread.new { i } }.map(&:value).sum'
program tcl libtcl8.6.so tclsh8.6 <(echo 'foreach i [lsort -integer {3 1 2}] { puts [expr {$i * sin($i)}] }; catch nowhere e; puts $e')
program stdc++ libstdc++.so.6 bash -c 'printf "#include <iostream>\n#include <map>\n#include <stdexcept>\nint main() { std::map<std::string, int> m; for (int i = 0; i < 300; i++) try { if (i %% 3) throw std::runtime_error(std::to_string(i)); m[\"x\"] += i; } catch (const std::exception &e) { m[e.what()]++; } std::cout << m.size() << std::endl; }" >a.cc; g++ -O1 a.cc -o a; exec ./a'
program sort libc.so.6 sort -R --random-source=data --parallel=2 -S 100k data
program bash libc.so.6 bash -c 'for i in 1 2 3; do echo $((i * i)) | cat & wait; done; printf "%s\n" "${!BASH_V@}" >/dev/null; trap "echo x" USR1; kill -USR1 $BASHPID; echo "$(echo a{1..50})"'
program libm libm.so.6 "${python[@]}" 'import math; print(sum(math.sin(i) + math.exp(-i) + math.pow(i, 0.5) + math.lgamma(i + 1) for i in range(300)))'

# Programs of ours: the one of tests/victim that calls in every way, by threads and forks; loads hoisted out of loops;
# constructors. A probe costs 10 us.
for variant in noplt nopie; do
	[[ victim-$variant =~ ^($wanted)$ ]] || continue
	rm -rf v
	cp -r "$victims/calls/$variant" v
	probed_equal "victim-$variant" "$dir/v/libcounted.so" "$dir/v/calls" "$dir/v"
done
cat >k.c <<'C'
#include <stdlib.h>
long k_one(long x) { return x + 1; }
long k_two(long x) { return x + 2; }
long k_three(long x) { return x + 3; }
long k_tail(long x) { return k_one(x + 5); }
static int compare(const void *a, const void *b) { return (int)(*(const long *)a - *(const long *)b); }
void k_sort(long *x, long n) { qsort(x, (size_t)n, sizeof(*x), compare); }
C
cat >m.c <<'C'
long k_one(long), k_two(long), k_three(long), k_tail(long);
void k_sort(long *, long);
static long sum;
static long (*volatile by_pointer)(long) = k_three;
__attribute__((constructor)) static void before(void)
{
	for (long i = 0; i < 1000; i++)
		sum += k_one(i) + k_tail(i);
}
int main(void)
{
	long x[] = {3, 1, 2};
	for (long i = 0; i < 1000; i++)
		sum += k_two(i) ^ k_three(i) ^ k_tail(i);
	for (long i = 0; i < 70; i++)
		sum += by_pointer(i);
	k_sort(x, 3);
	return x[0] == 1 && sum != 0 ? 0 : 1;
}
C
gcc -O2 -fPIC -shared -Wl,-soname,libk.so -o lib.so k.c
made() { # NAME COMPILER...
	local name=$1
	shift
	[[ $name =~ ^($wanted)$ ]] || return 0
	command -v "$1" >/dev/null || { left_out+=("$name"); return; }
	rm -rf v
	mkdir v
	cp lib.so v/libk.so
	HOME=/root "$@" -o v/m 2>log || { left_out+=("$name"); tail -n 3 log; return; }
	probed_equal "$name" "$dir/v/libk.so" v/m
}
for compiler in gcc clang; do
	for flags in '-O2 -fno-plt' '-O2 -Wl,-z,lazy' '-O3 -Wl,-z,now' '-O2 -no-pie -fno-pie -Wl,-z,lazy' '-O1 -fno-plt -mcmodel=large'; do
		[[ $flags == *-fno-plt* ]] && at_least=0 || at_least=4 # of loads out of loops, and of what may take any word, all are marked
		# shellcheck disable=SC2086
		made "$compiler $flags" $compiler $flags m.c v/libk.so
	done
done
cat >m.rs <<'R'
extern "C" { fn k_one(x: i64) -> i64; fn k_two(x: i64) -> i64; fn k_three(x: i64) -> i64; fn k_tail(x: i64) -> i64; }
fn main() {
    let threads: Vec<_> = (0..4).map(|n| std::thread::spawn(move || unsafe { (0..500).map(|i| k_one(i) + k_two(i + n)).sum::<i64>() })).collect();
    let sum: i64 = threads.into_iter().map(|t| t.join().unwrap()).sum();
    let f: unsafe extern "C" fn(i64) -> i64 = k_three;
    println!("{}", sum + unsafe { std::ptr::read_volatile(&f)(1) + k_three(2) + (0..300).map(|i| k_tail(i)).sum::<i64>() });
}
R
at_least=1 made 'rustc -O' rustc -O m.rs -C link-arg=v/libk.so

say "$n_programs programs: $n_equal functions, $n_calls calls equal; $n_least functions with more are marked, $n_held held by their library; left out: ${left_out[*]:-nothing}"
[ "$wanted" != '.*' ] || [ "$n_programs" -ge 20 ] || fail "20 programs, not $n_programs"
finish
