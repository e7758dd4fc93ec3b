# SPDX-License-Identifier: GPL-2.0-or-later
# pairs_programs.bash: programs of Debian packages whose stacks are proved. Sourced; what is not installed is unpacked.
#   packages: lines NAME|PACKAGE...|COMMAND. Each COMMAND keeps a CPU busy until it is ended, in a directory of its own;
#   $data has what they work on (make_data)
world=$unpacked/pairs

packages() {
	cat <<'PACKAGES'
python||python3 -c 'import json, re; d = {str(i): [i, str(i) * 3] for i in range(2000)}; [re.sub("[0-9]+", lambda m: m[0][::-1], json.dumps(json.loads(json.dumps(d)))) for _ in iter(int, 1)]'
numpy|python3-numpy libopenblas0-pthread|python3 -c 'import numpy as n; a = n.random.rand(300, 300); [(n.linalg.svd(a), n.fft.fft(a), n.sort(a @ a)) for _ in iter(int, 1)]'
greenlet|python3-greenlet|python3 -c 'import greenlet as g; f = lambda: [(sum(hash(str(i)) for i in range(500)), main.switch()) for _ in iter(int, 1)]; main = g.getcurrent(); a, b = g.greenlet(f), g.greenlet(f); [(a.switch(), b.switch()) for _ in iter(int, 1)]'
perl||perl -e 'while (1) { my %h; $h{$_ % 97} .= chr(65 + $_ % 26) for 1..20000; my $t = join "", map { $h{$_} } sort { $a <=> $b } keys %h; $t =~ s/([A-M]+)/<$1>/g }'
perl-coro|libcoro-perl|perl -e 'use Coro; sub work { while (1) { my %h; $h{$_ % 97} .= $_ for 1..2000; join ",", sort values %h; cede } } async { work } for 1..3; work'
ruby|ruby|ruby -e 'loop { h = Hash.new(0); 20000.times { |i| h[(i * 7 % 97).to_s] += i }; h.sort_by { |k, v| -v }.map(&:inspect).join.gsub(/[0-9]+/) { |m| m.reverse } }'
ruby-fiber|ruby|ruby -e 'f = 3.times.map { Fiber.new { loop { h = {}; 500.times { |i| h[i.to_s] = i.to_s.hash }; h.sort; Fiber.yield } } }; loop { f.each(&:resume) }'
lua|lua5.4|lua5.4 -e 'while true do local t = {} for i = 1, 20000 do t[#t + 1] = tostring(i * 7 % 97) end table.sort(t) local s = table.concat(t):gsub("%d", string.byte) end'
lua-coroutine|lua5.4|lua5.4 -e 'local function w() while true do local t = {} for i = 1, 500 do t[i] = tostring(i * 7 % 97) end table.sort(t) coroutine.yield() end end local a, b = coroutine.wrap(w), coroutine.wrap(w) while true do a() b() end'
php|php8.2-cli|php8.2 -n -r 'while (1) { $a = []; for ($i = 0; $i < 20000; $i++) $a[$i * 7 % 97] = md5($i) . serialize([$i]); ksort($a); preg_replace_callback("/[0-9]+/", fn($m) => strrev($m[0]), implode(",", $a)); }'
php-fiber|php8.2-cli|php8.2 -n -r '$w = function () { while (1) { $a = []; for ($i = 0; $i < 500; $i++) $a[md5($i)] = strrev($i); ksort($a); Fiber::suspend(); } }; $f = [new Fiber($w), new Fiber($w)]; foreach ($f as $x) $x->start(); while (1) foreach ($f as $x) $x->resume();'
node||node -e 'while (1) JSON.parse(JSON.stringify([...Array(2000).keys()].map(String).sort()))'
java|default-jdk-headless|printf 'import java.util.*; class A { public static void main(String[] x) { while (true) { Map<String, Integer> m = new TreeMap<>(); for (int i = 0; i < 20000; i++) m.merge("" + i * 7 %% 97, i, Integer::sum); m.toString().hashCode(); } } }\n' >A.java; java -Xshare:auto -XX:TieredStopAtLevel=1 A.java
guile|guile-3.0|guile --no-auto-compile -c '(use-modules (ice-9 regex)) (let l () (sort (map (lambda (i) (number->string (modulo (* i 7) 97))) (iota 5000)) string<?) (l))'
luajit|luajit|luajit -e 'while true do local t = {} for i = 1, 20000 do t[#t + 1] = tostring(i * 7 % 97) end table.sort(t) end'
emacs|emacs-nox|emacs-nox -Q --batch --eval '(while t (with-temp-buffer (dotimes (i 3000) (insert (format "%d %s\n" (% (* i 7) 97) (md5 (number-to-string i))))) (sort-lines nil (point-min) (point-max)) (goto-char 1) (while (re-search-forward "[0-9a]+" nil t) (replace-match "x"))))'
tcl|tcl8.6|echo 'while 1 { set l {}; for {set i 0} {$i < 20000} {incr i} { lappend l [expr {$i * 7 % 97}]-[string length $i] }; regsub -all {[0-9]+} [lsort $l] x y }' >a; tclsh8.6 a
gawk|gawk|gawk 'BEGIN { while (1) { for (i = 0; i < 20000; i++) a[i * 7 % 97] = a[i % 13] substr(i "x", 1, 3); n = asort(a, b); gsub(/[0-9]/, "<&>", b[n]); delete a } }'
mawk|mawk|mawk 'BEGIN { while (1) { for (i = 0; i < 20000; i++) a[i * 7 % 97] = substr(a[i % 13] i, 1, 30); for (k in a) gsub(/[0-9]/, "<&>", a[k]) } }'
bash||while :; do a=(); for ((i = 0; i < 2000; i++)); do a[i]=${i/1/x}$((i * 7 % 97)); done; [[ ${a[*]} =~ 9[0-9]x ]]; done
zsh|zsh|zsh -fc 'while :; do a=(); for ((i = 0; i < 2000; i++)); do a[i+1]=${i/1/x}; done; b=(${(o)a}); done'
busybox|busybox-static|while :; do busybox sha256sum $data/text >o; busybox gzip -c $data/text >o; busybox sort $data/lines >o; done
swipl|swi-prolog-nox|swipl -g 'repeat, findall(Y, (between(1, 20000, X), Y is X * 7 mod 97, atom_number(_, Y)), L), msort(L, _), fail'
sbcl|sbcl|sbcl --noinform --eval '(loop (sort (loop for i below 20000 collect (format nil "~a" (mod (* i 7) 97))) (function string<)))'
clisp|clisp|clisp -q -x '(loop (sort (loop for i below 2000 collect (format nil "~a" (mod (* i 7) 97))) (function string<)))'
chicken|chicken-bin|csi -e '(import (chicken sort)) (let l () (sort (map (lambda (i) (number->string (modulo (* i 7) 97))) (let r ((i 0)) (if (< i 9000) (cons i (r (+ i 1))) (list)))) string<?) (l))'
gforth|gforth|gforth-fast -e ': w 0 begin 1+ dup 7 * 97 mod over xor drop again ; w'
erlang|erlang-base|erl -noshell -eval 'F = fun(F) -> lists:sort([integer_to_list(I * 7 rem 97) || I <- lists:seq(1, 20000)]), crypto_not, F(F) end, F(F).'
R|r-base-core|Rscript --vanilla -e 'repeat { x <- matrix(runif(40000), 200); s <- svd(x); y <- sort(paste(x)); z <- lm(x[, 1] ~ x[, 2]); gsub("[0-9]", "x", y) }'
octave|octave|octave-cli -qf --eval 'while true; a = rand(200); [u, s, v] = svd(a); b = a \ u; c = fft(b); for i = 1:2000; d = sprintf("%d", i); end; end'
shellcheck|shellcheck|while :; do shellcheck -x $SOPROF_SOURCE/tests/cmd/*.sh >o; done
ocamlopt|ocaml|for ((i = 0; i < 300; i++)); do echo "let rec f$i n = if n < 2 then n * $i else f$i (n - 1) + List.length (List.map (fun x -> x + $i) [n; n + 1])"; done >a.ml; while :; do ocamlopt.opt -c a.ml; done
ocaml-native|ocaml|echo 'let () = while true do let h = Hashtbl.create 16 in for i = 1 to 20000 do Hashtbl.replace h (string_of_int (i * 7 mod 97)) (Digest.string (string_of_int i)) done; ignore (List.sort compare (Hashtbl.fold (fun k v l -> (k, v) :: l) h [])) done' >a.ml; ocamlopt.opt a.ml -o a && ./a
ocamlrun|ocaml|echo 'let () = while true do let h = Hashtbl.create 16 in for i = 1 to 20000 do Hashtbl.replace h (string_of_int (i * 7 mod 97)) i done; ignore (List.sort compare (Hashtbl.fold (fun k v l -> (k, v) :: l) h [])) done' >a.ml; ocamlc.opt a.ml -o a && ./a
spatch|coccinelle|printf '@@ expression a, b; @@\n- memcpy(a, b, sizeof(*b))\n+ copy(a, b)\n' >a.cocci; while :; do spatch --sp-file a.cocci $SOPROF_SOURCE/src/view/perf.c >o 2>&1; done
ripgrep|ripgrep|while :; do rg -j1 -c '([a-z]+)_\w+\(.*[0-9]{2}' $data/text >o; done
rustc|rustc|(echo '#![allow(dead_code)] fn main() {}'; for ((i = 0; i < 200; i++)); do echo "fn f$i(n: u32) -> Vec<String> { (0..n).map(|x| format!(\"{}\", x * $i)).filter(|s| s.len() > 1).collect() }"; done) >a.rs; while :; do rustc -O -o a a.rs; done
rust||cp $SOPROF_BUILD/tests/victim/stripped/rusty . && ./rusty 60
go-build|golang-go|export HOME=$PWD GOFLAGS=-mod=mod GOCACHE=$PWD/c GO111MODULE=off; (echo 'package main; import ("fmt"; "sort"; "strings"); func main() {}'; for ((i = 0; i < 200; i++)); do echo "func f$i(n int) string { a := []string{}; for k := 0; k < n; k++ { a = append(a, fmt.Sprint(k * $i)) }; sort.Strings(a); return strings.Join(a, \",\") }"; done) >a.go; while :; do go build -a -o a a.go; done
go|golang-go|export HOME=$PWD GO111MODULE=off; cp $SOPROF_SOURCE/tests/victim/golang.go a.go; go build -ldflags=-s -o a a.go && ./a 60
restic|restic|export HOME=$PWD RESTIC_PASSWORD=x; while :; do rm -rf r; restic init -q -r r; restic backup -q -r r $data $SOPROF_SOURCE/src; done
gccgo|gccgo-12|printf 'package main\nimport ("fmt"; "sort"; "strings")\nfunc w(c chan int) { for { a := []string{}; for i := 0; i < 2000; i++ { a = append(a, fmt.Sprint(i * 7 %% 97)) }; sort.Strings(a); c <- len(strings.Join(a, ",")) } }\nfunc main() { c := make(chan int); go w(c); go w(c); for { <-c } }\n' >a.go; gccgo-12 -O2 -o a a.go && ./a
gcc||while :; do gcc -O2 -c -o o $data/many.c; done
g++||printf '#include <map>\n#include <regex>\n#include <string>\nint f(const std::map<std::string, int> &m) { std::regex r("a+b"); int s = 0; for (auto &e : m) s += std::regex_match(e.first, r); return s; }\n' >a.cc; while :; do g++ -O2 -c -o o a.cc; done
clang||while :; do clang -O2 -c -o o $data/many.c; done
gfortran|gfortran|(for ((i = 0; i < 100; i++)); do printf 'subroutine s%d(a, b, n)\n integer :: n, i\n real :: a(n), b(n)\n do i = 2, n\n a(i) = sqrt(b(i - 1)) + sum(b(1:i)) * %d\n end do\nend subroutine\n' $i $i; done) >a.f90; while :; do gfortran -O3 -c -o o a.f90; done
fpc|fp-compiler|(echo 'program a;'; for ((i = 0; i < 400; i++)); do echo "function f$i(n: longint): longint; var k: longint; begin f$i := 0; for k := 1 to n do f$i := f$i + (k * $i) mod (n + 1); end;"; done; echo 'begin end.') >a.pas; while :; do fpc -O2 -Cn a.pas >o; done
tcc|tcc|while :; do tcc -c -o o $data/many.c; done
nasm|nasm|(for ((i = 0; i < 20000; i++)); do echo "l$i: mov eax, [rdi + $i]"; echo "jz l$((i / 2))"; done) >a.asm; while :; do nasm -f elf64 a.asm -o o; done
ld||while :; do ld.bfd -r -o o $data/objects/*.o; ld.bfd --gc-sections -e f1 -o o $data/objects/*.o; done
gold||while :; do ld.gold -e f1 -o o $data/objects/*.o; done
lld|lld|while :; do ld.lld -e f1 --icf=all -o o $data/objects/*.o; done
mold|mold|while :; do mold -e f1 -o o $data/objects/*.o; done
nginx-tls|nginx-core|export OPENSSL_CONF=/dev/null; mkdir r; cp $data/text r/f; tls_key; printf 'daemon off; pid p; user root; error_log stderr crit; worker_processes 1; events {} http { access_log off; client_body_temp_path t1; proxy_temp_path t2; fastcgi_temp_path t3; uwsgi_temp_path t4; scgi_temp_path t5; server { listen 127.0.0.1:8443 ssl; root %s/r; ssl_certificate %s/cert; ssl_certificate_key %s/key; ssl_ciphers ECDHE-RSA-AES256-GCM-SHA384; ssl_protocols TLSv1.2; } }' $PWD $PWD $PWD >c; nginx -p $PWD -c $PWD/c & up 8443; while :; do curl -sk https://127.0.0.1:8443/f -o /dev/null; openssl s_time -connect 127.0.0.1:8443 -www /f -time 1 -new >/dev/null 2>&1; done
haproxy-tls|haproxy|export OPENSSL_CONF=/dev/null; tls_key; cat cert key >pem; printf 'global\n nbthread 2\ndefaults\n mode http\n timeout client 5s\n timeout connect 5s\n timeout server 5s\nfrontend f\n bind 127.0.0.1:8443 ssl crt %s/pem\n http-request return status 200 content-type text/plain file %s/text\n' $PWD $data >c; sed -i 's#file .*/text#file '$data'/lines#' c; haproxy -f c -db & up 8443; while :; do openssl s_time -connect 127.0.0.1:8443 -www /f -time 1 -new >/dev/null 2>&1; done
apache|apache2-bin|mkdir r; cp $data/text r/f; m=/usr/lib/apache2/modules; for i in mpm_event:mpm_event authz_core:authz_core mime:mime deflate:deflate filter:filter; do echo "LoadModule ${i%:*}_module $m/mod_${i#*:}.so"; done >c; printf 'ServerName a\nPidFile p\nListen 127.0.0.1:8080\nDocumentRoot %s/r\nErrorLog /dev/null\nTypesConfig /dev/null\nSetOutputFilter DEFLATE\n' $PWD >>c; apache2 -d $PWD -f c -DFOREGROUND & up 8080; while :; do curl -s --compressed http://127.0.0.1:8080/f -o /dev/null; done
lighttpd|lighttpd|mkdir r; cp $data/text r/f; echo "server.document-root = \"$PWD/r\" server.port = 8080 server.bind = \"127.0.0.1\"" >c; lighttpd -D -f c & up 8080; while :; do curl -s http://127.0.0.1:8080/f -o /dev/null; done
redis|redis-server redis-tools|redis-server --port 0 --unixsocket $PWD/s --save '' --appendonly no --daemonize no >/dev/null & up s; while :; do redis-benchmark -s s -q -n 20000 >/dev/null; done
memcached|memcached|memcached -u root -l 127.0.0.1 -p 11211 -m 64 -t 2 & up 11211; python3 -c 'import socket; s = socket.create_connection(("127.0.0.1", 11211)); [(s.sendall(b"".join(b"set k%d 0 0 5\r\nhello\r\nget k%d\r\n" % (i, i // 2) for i in range(500))), s.recv(1 << 20)) for _ in iter(int, 1)]'
postgres|postgresql-15|export PATH=/usr/lib/postgresql/15/bin:$PATH; unshare --user --map-user=1000 bash -c 'initdb -D d --no-sync -A trust -U a >/dev/null && { postgres -D d -F -k $PWD -h "" 2>/dev/null & up .s.PGSQL.5432; }; while :; do psql -h $PWD -U a postgres -qtc "select count(*), sum(length(md5(i::text))), max(x) from generate_series(1, 300000) i, lateral (select i * 7 % 97 as x) y group by x order by 2" >/dev/null; done'
mariadb|mariadb-server-core mariadb-client-core|mkdir d t; mariadbd --no-defaults --user=root --datadir=$PWD/d --tmpdir=$PWD/t --bootstrap --innodb-flush-method=fsync </dev/null 2>/dev/null; mariadbd --no-defaults --user=root --datadir=$PWD/d --tmpdir=$PWD/t --socket=$PWD/s --skip-networking --skip-grant-tables 2>/dev/null & up s; while :; do mariadb --no-defaults -S s -e 'with recursive n(i) as (select 1 union all select i + 1 from n where i < 900) select count(distinct sha1(concat(a.i, b.i))) from n a, n b' >/dev/null; done
sqlite||while :; do sqlite3 :memory: "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n LIMIT 3000000) SELECT count(*), sum(i*i), avg(length(printf('%d', i))) FROM n;" >o; done
gnutls|gnutls-bin|while :; do gnutls-cli --benchmark-ciphers >o; done
openssl-gcm||openssl speed -seconds 100 -bytes 16384 -evp aes-256-gcm
openssl-chacha||openssl speed -seconds 100 -bytes 1024 -evp chacha20-poly1305
openssl-rsa||openssl speed -seconds 100 rsa2048
openssl-hash||openssl speed -seconds 1 sha1 sha256 sha512 md5
openssl-ec||openssl speed -seconds 1 ecdsap256 ecdsap384 ecdhx25519 ed25519
gpg|gpg gpg-agent|export GNUPGHOME=$PWD; while :; do gpg -q --batch --yes --pinentry-mode loopback --passphrase x -o o -c $data/text; done
x264|x264|x264 --quiet --threads 2 --preset slow -o o.264 $data/long.y4m
x265|x265|x265 --log-level none --pools 2 --preset medium $data/long.y4m -o o.265
dav1d|dav1d|while :; do dav1d -q -i $data/v.ivf -o /dev/null --muxer null; done
aomenc|aom-tools|aomenc --quiet --cpu-used=5 -o o.webm $data/long.y4m 2>/dev/null
vpxenc|vpx-tools|vpxenc --quiet --codec=vp9 --cpu-used=3 -o o.webm $data/long.y4m
svt-av1|svt-av1|SvtAv1EncApp -i $data/long.y4m -b o.ivf --preset 7 --lp 2 >/dev/null 2>&1
ffmpeg|ffmpeg|ffmpeg -nostdin -loglevel error -f lavfi -i testsrc=s=640x480:r=25 -f lavfi -i sine -c:v mpeg4 -c:a aac -vf 'hue=s=2,unsharp,scale=320:240' -threads 2 -f matroska -y /dev/null
flac|flac|while :; do flac -sf -8 -o o $data/a.wav; flac -sft o; done
lame|lame|while :; do lame --quiet -V2 $data/a.wav o; done
opus|opus-tools|while :; do opusenc --quiet $data/a.wav o; done
vorbis|vorbis-tools|while :; do oggenc -Q -o o $data/a.wav; done
sox|sox|while :; do sox $data/a.wav o.wav rate 22050 reverb; done
jpeg|libjpeg-turbo-progs|while :; do cjpeg -quality 90 $data/p.ppm >o.jpg; djpeg o.jpg >o; done
webp|webp|while :; do cwebp -quiet -m 6 $data/p.png -o o.webp; dwebp -quiet o.webp -ppm -o o; done
jxl|libjxl-tools|while :; do cjxl --quiet -e 5 $data/p.png o.jxl 2>/dev/null; djxl --quiet o.jxl o.ppm 2>/dev/null; done
openjpeg|libopenjp2-tools|while :; do opj_compress -i $data/p.ppm -o o.jp2 >/dev/null; opj_decompress -i o.jp2 -o o.ppm >/dev/null; done
heif|libheif-examples|while :; do heif-enc -q 40 $data/p.png -o o.heic >/dev/null; done
imagemagick|imagemagick-6.q16|while :; do convert-im6.q16 $data/p.png -rotate 30 -blur 3x2 -resize 150% -quality 80 o.jpg; done
ghostscript|ghostscript|while :; do gs -q -dNOPAUSE -dBATCH -sDEVICE=png16m -r150 -sOutputFile=o.png $data/a.ps; done
poppler|poppler-utils|while :; do pdftoppm -r 150 $data/a.pdf o; pdftotext $data/a.pdf o; done
librsvg|librsvg2-bin|while :; do HOME=$PWD rsvg-convert -w 2000 $data/a.svg -o o.png; done
gnuplot|gnuplot-nox|while :; do gnuplot-nox -e 'set terminal svg; set output "o.svg"; set isosamples 100; splot sin(x) * cos(y)'; done
graphviz|graphviz|(echo 'digraph {'; for ((i = 1; i < 300; i++)); do echo "$i -> $((i * 7 % 97)); $i -> $((i / 2))"; done; echo '}') >g; while :; do dot -Tsvg g >o; neato -Tplain g >o; done
povray|povray|printf 'camera { location <0, 2, -5> look_at 0 } light_source { <9, 9, -9> rgb 1 } plane { y, -1 pigment { checker rgb 0, rgb 1 } } sphere { 0, 1 texture { pigment { rgb <1, 0, 0> } finish { reflection 0.5 phong 1 } } }\n' >a.pov; while :; do povray +Ia.pov +Oo.png +W800 +H600 +A -D +WT2 +L/usr/share/povray-3.7/include -GA >/dev/null 2>&1; done
xz||while :; do xz -6 -c $data/text >o; xz -dc o >p; done
zstd||while :; do zstd -q -15 -f -o o $data/text; zstd -dqf -o p o; done
bzip2|bzip2|while :; do bzip2 -c $data/text >o; bzip2 -dc o >p; done
gzip||while :; do gzip -9c $data/text >o; gzip -dc o >p; done
lz4|lz4|while :; do lz4 -q9fz $data/text o; lz4 -qfd o p; done
brotli|brotli|while :; do brotli -fk -q 9 -o o $data/text; brotli -dfk -o p o; done
7z|p7zip-full|while :; do rm -f o.7z; 7z a -bd -mmt2 o.7z $data/text >/dev/null; 7z t o.7z >/dev/null; done
lzip|lzip|while :; do lzip.lzip -c $data/text >o; lzip.lzip -dc o >p; done
pigz|pigz|while :; do pigz -p 2 -c $data/text >o; pigz -dc o >p; done
zpaq|zpaq|while :; do rm -f o.zpaq; zpaq a o.zpaq $data/text -m3 >/dev/null 2>&1; done
git||export HOME=$PWD; git init -q r; cp -r $SOPROF_SOURCE/src r/; git -C r add .; git -C r -c user.name=a -c user.email=a@b commit -qm a; cd r; while :; do git log -p --stat >/dev/null; git fsck --no-progress; git repack -adfq; git grep -c 'sp_[a-z]*_new' >/dev/null; done
rsync|rsync|mkdir a; cp $data/text a; while :; do rm -rf b; rsync -az a/ b; rsync -ac --checksum-choice=md5 a/ b; done
gdb||while :; do gdb -nx -q -batch -iex 'set debuginfod enabled off' -ex 'info functions ^sp_profile' -ex 'info line main' $SOPROF >o 2>&1; done
readelf||while :; do readelf -aW /usr/lib/x86_64-linux-gnu/libcrypto.so.3 >o; objdump -d $SOPROF >o; nm -DC /usr/lib/x86_64-linux-gnu/libstdc++.so.6 >o; done
z3|z3|(for ((i = 0; i < 40; i++)); do echo "(declare-const x$i Int)(assert (and (> x$i $i) (< x$i 900)))"; done; for ((i = 2; i < 40; i++)); do echo "(assert (distinct (+ x$i (* 3 x$((i / 2)))) (* 2 x$((i - 1)))))"; done; echo '(check-sat)') >a; while :; do z3 a >o; done
minisat|minisat|awk 'BEGIN { srand(1); print "p cnf 220 920"; for (i = 0; i < 920; i++) print (rand() < .5 ? "" : "-") int(rand() * 220 + 1), (rand() < .5 ? "" : "-") int(rand() * 220 + 1), (rand() < .5 ? "" : "-") int(rand() * 220 + 1), 0 }' >a; while :; do minisat -verb=0 a o >/dev/null; done
yosys|yosys|printf 'module a(input clk, input [31:0] d, output reg [31:0] q); always @(posedge clk) q <= q * d + (q >> d[3:0]); endmodule\n' >a.v; while :; do yosys -Q -q -p 'read_verilog a.v; synth'; done
pari|pari-gp|echo 'while(1, factor(2^157-1); polroots(x^30-3*x+2); matdet(matrix(60,60,i,j,1/(i+j))))' | gp -q -f
glpk|glpk-utils|(echo 'set I := 1..30; set J := 1..30; param c{i in I, j in J} := (i * 7 + j * 13) mod 29; var x{I, J} binary; minimize z: sum{i in I, j in J} c[i,j] * x[i,j]; s.t. a{i in I}: sum{j in J} x[i,j] = 1; s.t. b{j in J}: sum{i in I} x[i,j] <= 1; end;') >a.mod; while :; do glpsol --cuts -m a.mod >o; done
stockfish|stockfish|(echo go infinite; exec sleep 60) | /usr/games/stockfish
xslt|xsltproc|(echo '<a>'; for ((i = 0; i < 3000; i++)); do echo "<b x=\"$((i * 7 % 97))\">$i</b>"; done; echo '</a>') >a.xml; echo '<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"><xsl:template match="/"><xsl:for-each select="//b"><xsl:sort select="@x"/><xsl:value-of select="translate(., 1, 2)"/>,</xsl:for-each></xsl:template></xsl:stylesheet>' >a.xsl; while :; do xsltproc a.xsl a.xml >o; done
boost-context|libboost-context1.74-dev libboost-context1.74.0|printf '#include <boost/context/fiber.hpp>\n#include <map>\n#include <string>\nnamespace c = boost::context;\nstatic long work() { std::map<std::string, int> m; for (int i = 0; i < 500; i++) m[std::to_string(i * 7 %% 97)] += i; return m.size(); }\nint main() { long n = 0; auto w = [&](c::fiber &&f) { while (true) { n += work(); f = std::move(f).resume(); } return std::move(f); }; c::fiber a{w}, b{w}; while (true) { a = std::move(a).resume(); b = std::move(b).resume(); } }\n' >a.cc; g++ -O2 a.cc -o a -lboost_context && ./a
pth|libpth-dev libpth20|printf '#include <pth.h>\n#include <stdio.h>\nstatic volatile int sum;\nstatic void *w(void *x) { char t[32]; for (;;) { for (int i = 0; i < 9000; i++) sum += snprintf(t, 32, "%%d %%g", i, i / 3.0); pth_yield(NULL); } return x; }\nint main(void) { pth_init(); pth_spawn(PTH_ATTR_DEFAULT, w, NULL); pth_spawn(PTH_ATTR_DEFAULT, w, NULL); w(NULL); }\n' >a.c; gcc -O2 a.c -o a -lpth && ./a
pcl|libpcl1-dev libpcl1|printf '#include <pcl.h>\n#include <stdio.h>\nstatic volatile int sum;\nstatic void w(void *x) { char t[32]; for (;;) { for (int i = 0; i < 9000; i++) sum += snprintf(t, 32, "%%d %%g", i, i / 3.0); co_resume(); } }\nint main(void) { coroutine_t a = co_create(w, NULL, NULL, 1 << 16), b = co_create(w, NULL, NULL, 1 << 16); for (;;) { co_call(a); co_call(b); } }\n' >a.c; gcc -O2 a.c -o a -lpcl && ./a
musl|musl-tools|printf '#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\nstatic int c(const void *a, const void *b) { return strcmp(a, b); }\nint main(void) { static char t[2000][16]; for (;;) { for (int i = 0; i < 2000; i++) snprintf(t[i], 16, "%%d", i * 7 %% 97); qsort(t, 2000, 16, c); } }\n' >a.c; musl-gcc -O2 a.c -o a && ./a
static||printf '#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\nstatic int c(const void *a, const void *b) { return strcmp(a, b); }\nint main(void) { static char t[2000][16]; for (;;) { for (int i = 0; i < 2000; i++) snprintf(t[i], 16, "%%d", i * 7 %% 97); qsort(t, 2000, 16, c); } }\n' >a.c; gcc -O2 -static a.c -o a && ./a
stunnel|stunnel4|export OPENSSL_CONF=/dev/null; tls_key; printf 'foreground = yes\npid =\nsyslog = no\ndebug = 0\n[a]\naccept = 127.0.0.1:4430\nexec = /bin/cat\nexecArgs = cat %s/text\ncert = %s/cert\nkey = %s/key\n' $data $PWD $PWD >c; stunnel4 c 2>/dev/null & up 4430; while :; do openssl s_client -quiet -connect 127.0.0.1:4430 </dev/null >o 2>/dev/null; done
qemu-img|qemu-utils|while :; do qemu-img convert -c -O qcow2 $data/text o.qcow2; qemu-img convert -O raw o.qcow2 p; qemu-img check -q o.qcow2; done
jq|jq|while :; do jq -n '[range(30000) | {a: (. * 7 % 97), b: tostring}] | group_by(.a) | map({k: .[0].a, n: length, s: (map(.b) | join(","))}) | tojson | fromjson | length' >o; done
ecm|gmp-ecm|while :; do echo '2^227-1' | ecm -q 3e4 >o; done
argon2|argon2|while :; do echo password | argon2 saltsalt -id -t 3 -m 14 -p 2 >o; done
squashfs|squashfs-tools|while :; do rm -f o.sq; mksquashfs $SOPROF_SOURCE/src o.sq -comp zstd -quiet -no-progress >/dev/null; rm -rf u; unsquashfs -q -n -d u o.sq >/dev/null; done
sysbench|sysbench|while :; do sysbench --threads=2 --time=1 cpu run >o; sysbench --time=1 memory run >o; done
minimap2|minimap2|awk 'BEGIN { srand(1); s = ""; for (i = 0; i < 200000; i++) s = s substr("ACGT", int(rand() * 4) + 1, 1); print ">r"; print s; for (i = 0; i < 300; i++) { print ">q" i >"q.fa"; print substr(s, int(rand() * 190000), 5000) >"q.fa" } }' >r.fa; while :; do minimap2 -t2 -a r.fa q.fa >o 2>/dev/null; done
mruby|mruby|mruby -e 'while true; h = {}; 20000.times { |i| h[(i * 7 % 97).to_s] = i.to_s }; h.keys.sort.join(",").size; end'
gdc|gdc-12|printf 'import std.stdio, std.algorithm, std.array, std.conv, core.thread; void work() { foreach (r; 0 .. 1000000) { auto a = new string[](500); foreach (i; 0 .. 500) a[i] = to!string(i * 7 %% 97); sort(a); auto s = join(a, ","); if (s.length == 0) writeln(s); Fiber.yield(); } } void main() { auto f = [new Fiber(&work), new Fiber(&work)]; while (true) foreach (x; f) x.call(); }\n' >a.d; gdc-12 -O2 a.d -o a && ./a
gnat|gnat-12|printf "with Ada.Containers.Ordered_Maps; with Ada.Strings.Unbounded; use Ada.Strings.Unbounded;\nprocedure A is\n package M is new Ada.Containers.Ordered_Maps (Integer, Unbounded_String);\n task type W;\n task body W is X : M.Map; begin loop X.Clear; for I in 1 .. 5000 loop X.Include (I * 7 mod 97, To_Unbounded_String (Integer'Image (I))); end loop; end loop; end W;\n T : array (1 .. 2) of W;\nbegin null; end A;\n" >a.adb; gnatmake-12 -q -O2 a.adb && ./a
nim|nim|export HOME=$PWD; printf 'import tables, strutils, algorithm\nproc w(): int =\n  var t = initTable[string, seq[string]]()\n  for i in 0..5000:\n    t.mgetOrPut($(i * 7 mod 97), @[]).add(toHex(i))\n  for k, v in t:\n    result += sorted(v).join(",").len\nwhile true:\n  discard w()\n' >a.nim; nim c -d:release --hints:off a.nim >/dev/null 2>&1 && ./a
rakudo|rakudo|export HOME=$PWD; raku -e 'loop { my %h; for ^2000 { %h{$_ * 7 % 97}.push: ~$_ }; %h.sort.map(*.Str).join(",") }'
chromium||cp $SOPROF_SOURCE/tests/cmd/v8_chromium.html a.html; TMPDIR=$PWD node $SOPROF_SOURCE/tests/cmd/v8_chromium.mjs /usr/bin/chromium $PWD/a.html 1000000
PACKAGES
}

# --- what they work on ---------------------------------------------------------------------------------------------
make_data() { # once for the build directory; a clean one makes it anew
	export data=$unpacked/pairs-data
	[ ! -e "$data/made" ] || return
	fill_data
	touch "$data/made"
}
fill_data() {
	local i
	mkdir -p "$data/objects"
	find "$SOPROF_SOURCE/src" -name '*.[ch]' -print0 | sort -z | xargs -0 cat >"$data/text"
	head -n 3000 "$data/text" >"$data/lines"
	for ((i = 0; i < 300; i++)); do
		echo "int f$i(int n) { int s = 0; for (int k = 0; k < n; k++) s += (k * $i + n) % (k + 1); return s; }"
	done >"$data/many.c"
	for ((i = 1; i <= 40; i++)); do
		sed "s/f\([0-9]*\)(/f\1_$i(/" "$data/many.c" >"$data/$i.c"
		[ "$i" != 1 ] || echo 'int f1(void) { return 0; }' >>"$data/$i.c"
		gcc -O1 -ffunction-sections -c -o "$data/objects/$i.o" "$data/$i.c"
	done
	ffmpeg -nostdin -loglevel error -f lavfi -i testsrc2=s=640x480:r=25:d=20 -pix_fmt yuv420p "$data/long.y4m"
	ffmpeg -nostdin -loglevel error -f lavfi -i testsrc2=s=640x480:d=1 -frames:v 1 "$data/p.png"
	ffmpeg -nostdin -loglevel error -i "$data/p.png" "$data/p.ppm"
	ffmpeg -nostdin -loglevel error -f lavfi -i 'anoisesrc=d=20:a=0.3' -f lavfi -i sine=d=20 -filter_complex amix "$data/a.wav"
	ffmpeg -nostdin -loglevel error -i "$data/long.y4m" -t 2 -c:v libaom-av1 -cpu-used 8 -row-mt 1 "$data/v.ivf"
	printf '%%!PS\n/Helvetica findfont 20 scalefont setfont 1 1 30 { 20 exch 20 mul moveto (hello) show } for 0 1 500 { dup 3 mul 40 add exch moveto 99 200 lineto stroke } for showpage\n' >"$data/a.ps"
	gs -q -dNOPAUSE -dBATCH -sDEVICE=pdfwrite -sOutputFile="$data/a.pdf" "$data/a.ps"
	{
		echo '<svg xmlns="http://www.w3.org/2000/svg" width="500" height="300">'
		for ((i = 0; i < 300; i++)); do
			echo "<circle cx=\"$((i * 7 % 500))\" cy=\"$((i * 13 % 300))\" r=\"$((i % 40))\" fill=\"none\" stroke=\"red\"/>"
		done
		echo '</svg>'
	} >"$data/a.svg"
}
tls_key() { openssl req -x509 -newkey rsa:2048 -nodes -keyout key -out cert -days 9 -subj /CN=a 2>/dev/null; }
export -f tls_key
