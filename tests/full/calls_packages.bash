# SPDX-License-Identifier: GPL-2.0-or-later
# calls_packages.bash: more programs that must not notice that their calls are counted: of packages that are unpacked, not
# installed. Sourced after calls_programs.bash and unpack.bash; root only.
#   packages: lines NAME|PACKAGE...|COMMAND
#   unpack_packages   their files, and those of what they depend on, lie over /usr and /etc, for this process and its children
world=$unpacked/programs

packages() {
	cat <<'PACKAGES'
nginx|nginx-core|mkdir r l; seq 3000 >r/f; echo "daemon off; pid p; user root; error_log stderr crit; worker_processes 2; events {} http { access_log off; client_body_temp_path t1; proxy_temp_path t2; fastcgi_temp_path t3; uwsgi_temp_path t4; scgi_temp_path t5; gzip on; gzip_types *; server { listen 8080; root $PWD/r; location /x { return 203 hello; } location /p { proxy_pass http://127.0.0.1:8080/f; } } }" >c; nginx -p $PWD -e stderr -c $PWD/c & up 8080; get 8080/f | cksum; get 8080/x; get 8080/p | cksum; get 8080/nowhere; curl -s --compressed http://127.0.0.1:8080/f | cksum; ended $!; nginx -t -p $PWD -e stderr -c $PWD/nowhere 2>&1 | sed 's/^20[^[]*\([a-z[]*\).*: open/\1 open/'
apache|apache2-bin|mkdir r; seq 3000 >r/f; m=/usr/lib/apache2/modules; for i in mpm_event:mpm_event authz_core:authz_core mime:mime deflate:deflate filter:filter rewrite:rewrite ssl:ssl status:status; do echo "LoadModule ${i#*:}_module $m/mod_${i%:*}.so"; done >c; printf 'ServerRoot %s\nServerName localhost\nListen 8080\nPidFile p\nErrorLog /dev/null\nDocumentRoot %s/r\nTypesConfig /etc/mime.types\n<Directory %s/r>\nRequire all granted\nRewriteEngine on\nRewriteRule ^g$ f\n</Directory>\nAddOutputFilterByType DEFLATE text/plain\n' $PWD $PWD $PWD >>c; apache2 -X -f $PWD/c & up 8080; get 8080/f | cksum; get 8080/g | cksum; curl -s --compressed http://127.0.0.1:8080/f | cksum; get 8080/nowhere; ended $!; apache2 -t -f $PWD/c
redis|redis-server redis-tools|redis-server --version | cut -d ' ' -f 1-3; redis-server --port 0 --unixsocket $PWD/s --save '' --appendonly no --daemonize no >/dev/null & up s; redis-cli -s s set a 1; redis-cli -s s incr a; redis-cli -s s eval 'return redis.call("get", "a")' 0; redis-cli -s s lpush l 3 1 2; redis-cli -s s sort l; redis-cli -s s nowhere; redis-cli -s s shutdown nosave; wait $!; echo $?
memcached|memcached|memcached -u root -l 127.0.0.1 -p 11211 -m 16 -t 2 & up 11211; exec 8<>/dev/tcp/127.0.0.1/11211; printf 'set a 0 0 5\r\nhello\r\nget a\r\nincr a 1\r\nstats settings\r\nquit\r\n' >&8; cat <&8; ended $!
lighttpd|lighttpd|mkdir r; seq 3000 >r/f; echo "server.document-root = \"$PWD/r\" server.port = 8080 server.modules = (\"mod_access\", \"mod_redirect\") url.redirect = (\"^/x\" => \"/f\") server.errorlog = \"/dev/null\"" | sed 's/ \(server\|url\)\./\n\1./g' >c; lighttpd -tt -f c; lighttpd -D -f c & up 8080; get 8080/f | cksum; get 8080/x; get 8080/nowhere; ended $!
haproxy|haproxy|printf 'global\n maxconn 100\n nbthread 2\ndefaults\n mode http\n timeout client 5s\n timeout connect 5s\n timeout server 5s\nfrontend f\n bind 127.0.0.1:8080\n http-request return status 200 content-type text/plain string "hello\\n" if { path /x }\n http-request return status 200 content-type text/plain lf-string "%%[path,length]\\n"\n' >c; haproxy -c -q -f c; echo $?; haproxy -q -f c & up 8080; get 8080/x; get 8080/longer; get 8080/%41; ended $!; echo nonsense >d; haproxy -c -f d 2>&1 | sed 's/^\[[A-Z]*\] *([0-9]*)//'
unbound|unbound bind9-dnsutils|printf 'server:\n interface: 127.0.0.1\n port: 5300\n username: ""\n chroot: ""\n directory: "%s"\n pidfile: "%s/p"\n use-syslog: no\n logfile: "%s/l"\n verbosity: 0\n do-daemonize: no\n num-threads: 2\n local-zone: "a.test." static\n local-data: "x.a.test. IN A 192.0.2.1"\n local-data: "x.a.test. IN TXT hello"\nremote-control:\n control-enable: no\n' $PWD $PWD $PWD >c; unbound-checkconf c; unbound -d -c c & up 5300; for t in A TXT AAAA; do dig @127.0.0.1 -p 5300 +short +tcp x.a.test $t; done; dig @127.0.0.1 -p 5300 +noall +comments y.a.test | sed 's/id: .*//'; ended $!; rm l
bind|bind9 bind9-utils bind9-dnsutils|printf '$TTL 60\n@ SOA ns h. 1 60 60 60 60\n@ NS ns\nns A 192.0.2.2\nx A 192.0.2.1\nx TXT "hello"\n' >z; printf 'options { directory "%s"; listen-on port 5300 { 127.0.0.1; }; listen-on-v6 { none; }; pid-file none; session-keyfile none; recursion no; dnssec-validation no; };\ncontrols {};\nzone "a.test" { type master; file "z"; };\n' $PWD >c; named-checkconf c; named-checkzone a.test z; named -g -n 2 -c c >/dev/null 2>&1 & until dig @127.0.0.1 -p 5300 +short ns.a.test | grep -q '^192'; do sleep 0.05; done; for t in A TXT AAAA; do dig @127.0.0.1 -p 5300 +short x.a.test $t; done; dig @127.0.0.1 -p 5300 +noall +comments +nocookie y.a.test | sed 's/id: .*//'; dig @127.0.0.1 -p 5300 +short axfr a.test; ended $!
dnsmasq|dnsmasq-base bind9-dnsutils|dnsmasq --test -C /dev/null; dnsmasq -k -C /dev/null -u root -p 5300 -a 127.0.0.1 -z --no-resolv --no-hosts -x $PWD/p --address=/x.test/192.0.2.1 --txt-record=y.test,hello 2>/dev/null & up 5300; dig @127.0.0.1 -p 5300 +short x.test; dig @127.0.0.1 -p 5300 +short txt y.test; dig @127.0.0.1 -p 5300 +short z.test; ended $!; rm -f p
sshd|openssh-server openssh-client|export HOME=$PWD; mkdir -p /run/sshd; ssh-keygen -q -t ed25519 -N '' -f k; printf 'HostKey %s/k\nPort 2222\nAuthorizedKeysFile %s/k.pub\nStrictModes no\nUsePAM no\nPidFile none\nPermitRootLogin yes\n' $PWD $PWD >c; chmod 600 k; $(command -v sshd) -t -f c; echo $?; $(command -v sshd) -D -e -f $PWD/c 2>/dev/null & up 2222; ssh -p 2222 -i k -o BatchMode=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=error 127.0.0.1 'echo $((6 * 7)); exit 3'; echo $?; ended $!; rm -f k k.pub
php-fpm|php8.2-fpm libfcgi-bin|printf '[global]\nerror_log=/dev/null\n[w]\nlisten=%s/s\npm=static\npm.max_children=2\n' $PWD >c; echo '<?php echo array_sum(range(1, 100)), " ", md5("x"), "\n"; nowhere();' >a.php; php-fpm8.2 -n -R -F -y c & up s; for i in 1 2; do SCRIPT_FILENAME=$PWD/a.php REQUEST_METHOD=GET cgi-fcgi -bind -connect s; done; ended $!; php-fpm8.2 -n -R -t -y nowhere 2>&1 | cut -c 24-
mariadb|mariadb-server-core|mkdir d t; printf 'create database a;\nuse a;\ncreate table t(a int primary key, b text) engine=innodb;\ninsert into t values (1, "x"), (2, "y");\nselect sha1(group_concat(b)), sum(a * a) into outfile "%s/o" from t;\n' $PWD >q; mariadbd --no-defaults --user=root --datadir=$PWD/d --tmpdir=$PWD/t --lc-messages-dir=/usr/share/mysql --bootstrap --innodb-buffer-pool-size=8M --innodb-log-file-size=4M <q 2>e; echo $?; cat o; grep -c ERROR e; rm -r d t e
postgres|postgresql-15|export PATH=/usr/lib/postgresql/15/bin:$PATH; unshare --user --map-user=1000 bash -c 'initdb -D d --no-sync -A trust -U a >/dev/null && { postgres -D d -F -k $PWD -h "" 2>/dev/null & until pg_isready -q -h $PWD; do sleep 0.05; done; psql -qAt -h $PWD -U a -d postgres -c "create table t(a int primary key, b text); insert into t select i, md5(i::text) from generate_series(1, 3000) i; create index on t(b); select count(*), sum(a), max(b) from t where b > \$\$5\$\$; select nowhere"; ended $!; }'; rm -r d
postfix|postfix|mkdir etc; printf 'compatibility_level = 3.6\nmail_owner = games\nsetgid_group = tty\nmyhostname = a.test\n' >etc/main.cf; : >etc/master.cf; postconf -c etc -n; printf 'a b\nc d\n' >m; postmap -c etc -q c texthash:m; echo $?; postmap -c etc -s texthash:m | sort; postmap -c etc -q x static:y; postconf -c etc -m | sort
dovecot|dovecot-core|printf 'protocols =\nlog_path = /dev/stderr\nssl = no\n' >c; doveconf -c c -n 2>/dev/null | grep -v -e '^#' -e '^dovecot'; doveadm -c c pw -s PLAIN-MD5 -p x; doveadm -c c pw -t '{SHA}y' -p z; echo $?
slapd|slapd ldap-utils|mkdir d; printf 'include /etc/ldap/schema/core.schema\nmodulepath /usr/lib/ldap\nmoduleload back_mdb\ndatabase mdb\nmaxsize 1048576\nsuffix dc=a\nrootdn cn=r,dc=a\nrootpw x\ndirectory %s/d\n' $PWD >c; printf 'dn: dc=a\nobjectClass: dcObject\nobjectClass: organization\no: a\ndc: a\n\ndn: cn=x,dc=a\nobjectClass: organizationalRole\ncn: x\n' >l; slapadd -q -f c -l l; slapcat -f c | grep -v -i -e '^entry' -e Timestamp -e '^structural'; slapd -d 0 -h ldap://127.0.0.1:3890 -f c & up 3890; ldapsearch -LLL -x -H ldap://127.0.0.1:3890 -b dc=a '(cn=x)'; ldapwhoami -x -H ldap://127.0.0.1:3890 -D cn=r,dc=a -w x; ldapwhoami -x -H ldap://127.0.0.1:3890 -D cn=r,dc=a -w y; ended $!; rm -r d
mosquitto|mosquitto mosquitto-clients|printf 'listener 1883 127.0.0.1\nallow_anonymous true\nlog_type none\nuser root\n' >c; mosquitto -c c 2>/dev/null & up 1883; mosquitto_pub -r -t a/b -m hello; mosquitto_pub -r -t a/c -m there; mosquitto_sub -t 'a/#' -C 2 -v | sort; ended $!
stunnel|stunnel4|openssl req -x509 -newkey rsa:2048 -nodes -keyout k -out c -days 9 -subj /CN=a 2>/dev/null; printf 'foreground = yes\npid =\nsyslog = no\ndebug = 0\nsocket = l:TCP_NODELAY=1\n[a]\naccept = 127.0.0.1:4430\nexec = /bin/cat\nexecArgs = cat /etc/debian_version\ncert = %s/c\nkey = %s/k\n' $PWD $PWD >f; stunnel4 f 2>/dev/null & up 4430; openssl s_client -quiet -connect 127.0.0.1:4430 </dev/null 2>/dev/null; ended $!; rm c k
dbus|dbus-daemon dbus-bin|dbus-daemon --session --nofork --address=unix:path=$PWD/s & up s; export DBUS_SESSION_BUS_ADDRESS=unix:path=$PWD/s; dbus-send --print-reply=literal --dest=org.freedesktop.DBus / org.freedesktop.DBus.ListNames; dbus-send --print-reply --dest=org.nowhere / org.nowhere.A; ended $!
rsyncd|rsync|mkdir a b; seq 3000 >a/f; ln -s f a/g; touch -d 2020-01-01 a/f; printf 'port = 8730\nuse chroot = no\n[a]\npath = %s/a\nread only = yes\n' $PWD >c; rsync --daemon --no-detach --config=c & up 8730; rsync -az --no-t --stats rsync://127.0.0.1:8730/a/ b | grep -e files:; rsync rsync://127.0.0.1:8730/; rsync rsync://127.0.0.1:8730/x b 2>&1 | sed 's/at .*//'; ended $!
openvpn|openvpn|openvpn --genkey secret k; wc -l <k; openvpn --show-ciphers | tail -n 3; rm k
ruby|ruby|ruby --disable-gems -e 'require "digest"; require "json"; require "zlib"; puts Digest::SHA256.hexdigest("x"), JSON.generate([1, {"a" => 2.5}]), Zlib.crc32("abc"); puts 4.times.map { |i| Thread.new { (1..1000).sum * i } }.map(&:value).inspect; f = Fiber.new { Fiber.yield 1; 2 }; p f.resume, f.resume; p fork { exit 3 }.class, Process.wait2[1].exitstatus; GC.start; p "aäb".scan(/./).size; raise "x"'
lua|lua5.4 lua-cjson lua-lpeg|lua5.4 -e 'local t = {} for i = 1, 20000 do t[i] = (i * 7919) % 10007 end table.sort(t) print(t[1], t[20000], ("x"):rep(5), string.format("%g %q", 0.1, "a\n")) local co = coroutine.wrap(function() for i = 1, 3 do coroutine.yield(i) end end) print(co(), co(), pcall(error, "e")) print(os.rename("nowhere", "x")) error("end")'
luajit|luajit|luajit -e 'local ffi = require("ffi") ffi.cdef[[int abs(int); unsigned long strlen(const char *); int printf(const char *, ...); void qsort(void *, size_t, size_t, int (*)(const void *, const void *));]] local s = 0 for i = 1, 300000 do s = s + ffi.C.abs(-i) % 7 end print(s, tonumber(ffi.C.strlen("four"))) ffi.C.printf("%s %g\n", "x", ffi.cast("double", 0.5)) io.stdout:flush()'
guile|guile-3.0|export GUILE_AUTO_COMPILE=0; /usr/lib/x86_64-linux-gnu/guile/3.0/bin/guile -c '(use-modules (ice-9 threads) (srfi srfi-1)) (display (fold + 0 (par-map (lambda (x) (* x x)) (iota 100)))) (newline) (display (expt 3 200)) (newline) (call/cc (lambda (k) (k 1))) (catch (quote a) (lambda () (throw (quote a) 1)) (lambda x (display x) (newline))) (exit 3)'
gawk|gawk|seq 9999 | gawk -v PREC=200 -M '{ s += $1 ^ 20 } END { printf "%d %.50f\n", s, 1 / 3 }'; gawk 'BEGIN { "date -u -d @0 +%Y" | getline y; print y, strftime("%H", 0, 1); n = split("c a b", a); asort(a); print a[1], gensub(/(.)b/, "<\\1>", "g", "abab"); print nowhere() }'
mawk|mawk|seq 30000 | mawk '{ n[$1 % 101] += $1 } END { for (i in n) s += n[i] * i; printf "%.0f\n", s; exit 3 }'
emacs|emacs-nox|emacs-nox -Q --batch --eval '(progn (require (quote json)) (princ (json-encode (list 1 2.5 "x"))) (terpri) (princ (secure-hash (quote sha256) "x")) (terpri) (with-temp-buffer (dotimes (i 2000) (insert (format "%d\n" (mod (* i 7919) 1009)))) (sort-numeric-fields 1 (point-min) (point-max)) (write-region nil nil "out")) (princ (shell-command-to-string "echo sub")) (error "end"))'
zsh|zsh|zsh -f -c 'zmodload zsh/mathfunc; print $((sqrt(2))); a=(c a b); print ${(o)a}; print -l **/nowhere(N) | wc -l; f() { return 4 }; f; print $?; (print sub) | cat; echo $(( 2 ** 40 )); exit 5'
fish|fish|HOME=$PWD fish --no-config -c 'for i in (seq 3); echo (math "$i * 2.5"); end; string replace -r "(.)b" "<\$1>" abab; set x (echo a b | string split " "); count $x; nowhere; exit 4' 2>&1 | grep -v fish:
tcsh|tcsh|tcsh -f -c 'set a = (c a b); echo $a[2] $#a; foreach i (1 2 3); end; @ x = 6 * 7; echo $x; exit 4'; tcsh -f -c 'echo `echo sub` | cat'
swipl|swi-prolog-nox|swipl -q -g 'findall(Y, (between(1, 200, Y), 0 is Y mod 37), Z), writeln(Z), X is 3 ** 100, format("~w~n", [X]), catch(atom_length(_, _), _, writeln(caught)), thread_create((A is 6 * 7, thread_exit(A)), T), thread_join(T, S), writeln(S), halt(3)'
sbcl|sbcl|sbcl --noinform --no-sysinit --no-userinit --non-interactive --eval '(progn (print (loop for i below 1000 sum (* i i))) (print (expt 3 100)) (print (handler-case (error "x") (error (e) (princ-to-string e)))) (terpri) (sb-ext:exit :code 3))'
erlang|erlang-base|erl -noshell +S 2 -eval 'P = self(), [spawn(fun() -> P ! lists:sum(lists:seq(1, N)) end) || N <- lists:seq(1, 20)], io:format("~p ~p~n", [lists:sum([receive X -> X end || _ <- lists:seq(1, 20)]), erlang:crc32("abc")]), halt(3).'
gforth|gforth|gforth -e ': f dup 2 < if drop 1 else dup 1- recurse * then ; 10 f . 2e fsqrt f. s" x" type cr 1 2 3 .s bye'
R|r-base-core|R --vanilla --slave -e 'set.seed(1); x <- matrix(runif(100), 10); cat(round(sum(solve(x) %*% x), 6), mean(rnorm(1000)), nchar("abc"), "\n"); print(summary(lm(dist ~ speed, cars))$r.squared); print(sort(c("b", "a"))); tryCatch(stop("x"), error = function(e) print(conditionMessage(e))); saveRDS(1:10, "o", compress = FALSE); stop("end")'
numpy|python3-numpy|python3 -c 'import numpy as n; a = n.arange(10000.0).reshape(100, 100) % 7 + n.eye(100) * 50; print(round(float(n.linalg.det(a / 50)), 6), a.sum(), n.fft.fft(a[0])[:2].round(6), n.linalg.solve(a, a[0]).round(6)[:3], n.random.default_rng(1).integers(9, size=5)); n.save("o", a); n.zeros(3)[7]'
perl-xs|libjson-xs-perl libdbd-sqlite3-perl libxml-libxml-perl|perl -e 'use JSON::XS; use DBI; use XML::LibXML; use List::Util "sum"; use Time::HiRes "usleep"; print JSON::XS->new->canonical->encode({b => [1, 2.5], a => undef}), "\n"; my $d = DBI->connect("dbi:SQLite:dbname=a.db", "", "", {RaiseError => 1}); $d->do("create table t(a)"); $d->do("insert into t values ($_)") for 1 .. 20; print sum(map { $_->[0] } @{$d->selectall_arrayref("select a from t")}), "\n"; print XML::LibXML->load_xml(string => "<a><b>1</b></a>")->findvalue("//b"), "\n"; usleep 1; $d->do("nowhere")' 2>&1
sqlite-extension|sqlite3 libsqlite3-dev|printf '#include <sqlite3ext.h>\nSQLITE_EXTENSION_INIT1\nstatic void f(sqlite3_context *c, int n, sqlite3_value **v) { (void)n; sqlite3_result_text(c, sqlite3_mprintf("<%%s>", sqlite3_value_text(v[0])), -1, sqlite3_free); }\nint sqlite3_extension_init(sqlite3 *d, char **e, const sqlite3_api_routines *a) { (void)e; SQLITE_EXTENSION_INIT2(a); return sqlite3_create_function(d, "f", 1, SQLITE_UTF8, 0, f, 0, 0); }\n' >a.c; gcc -O2 -w -shared -fPIC a.c -o a.so; sqlite3 :memory: '.load ./a' "select f('x') || f(3)" 'select f()'
java|default-jdk-headless|printf 'import java.util.*; import java.util.stream.*; import java.util.zip.*;\npublic class A { public static void main(String[] a) throws Exception { CRC32 c = new CRC32(); c.update("abc".getBytes()); System.out.println(c.getValue() + " " + IntStream.range(0, 100000).parallel().mapToLong(i -> i * 7L %% 13).sum()); Thread t = new Thread(() -> System.out.println("thread")); t.start(); t.join(); Process p = new ProcessBuilder("echo", "sub").inheritIO().start(); System.out.println(p.waitFor()); Deflater d = new Deflater(); d.setInput(new byte[10000]); d.finish(); System.out.println(d.deflate(new byte[1000])); System.exit(3); } }\n' >A.java; javac -J-XX:-UsePerfData A.java; export JDK_JAVA_OPTIONS=-XX:-UsePerfData; java -cp . A 2>&1 | grep -v '^NOTE'; java nowhere 2>&1 | head -n 2
ocaml|ocaml-base|ocamlrun -version; ocamlrun nowhere
gfortran|gfortran|printf 'program a\n real :: x(100)\n integer :: i\n x = [(sqrt(real(i)), i = 1, 100)]\n print *, sum(x), maxval(x)\n write(*, "(F8.3)") dot_product(x, x)\n open(7, file="o")\n write(7, *) matmul(reshape(x(1:4), [2, 2]), reshape(x(5:8), [2, 2]))\n stop 3\nend\n' >a.f90; gfortran -O2 a.f90 -o a && ./a; echo $?; rm a
tcc|tcc|printf '#include <stdio.h>\n#include <math.h>\nint main() { printf("%%g\\n", sqrt(2)); return 6; }\n' >a.c; tcc a.c -lm -o a && ./a; echo $?; tcc -run a.c; echo 'int x = ;' | tcc -c -
nasm|nasm|printf 'global _start\nsection .text\n_start: mov eax, 60\nmov edi, 7\nsyscall\n' >a.asm; nasm -f elf64 a.asm && ld a.o -o a && ./a; echo $?; echo nonsense >b.asm; nasm b.asm
bison|bison flex m4|printf '%%{\n#include <stdio.h>\nint yylex(void); void yyerror(const char *s) { puts(s); }\n%%}\n%%token N\n%%%%\ns: e { printf("%%d\\n", $1); };\ne: e \047+\047 N { $$ = $1 + $3; } | N;\n' >a.y; printf '%%option noyywrap\n%%{\n#include "a.tab.h"\nextern int yylval;\n%%}\n%%%%\n[0-9]+ yylval = yytext[0] - 48; return N;\n. return 43;\n\\n ;\n' >a.l; bison -d a.y; flex -o a.yy.c a.l; gcc -O0 -w a.tab.c a.yy.c -x c - -o a <<<'int yyparse(void); int main(void) { return yyparse(); }'; echo 1+2+3 | ./a; rm a; echo 'define(x, y) x' | m4
protobuf|protobuf-compiler|printf 'syntax = "proto3";\nmessage A { string b = 1; repeated int32 c = 2; }\n' >a.proto; protoc --cpp_out=. --python_out=. a.proto; printf 'b: "x" c: [1, 2]' | protoc --encode=A a.proto | od -c; echo x >b.proto; protoc --cpp_out=. b.proto
tcmalloc|libgoogle-perftools4|export LD_PRELOAD=libtcmalloc.so.4; ls -ld /etc; seq 30000 | sort -n | tail -n 1; python3 -c 'import threading; t = [threading.Thread(target=lambda: sorted(str(i) for i in range(20000))) for _ in range(4)]; [x.start() for x in t]; [x.join() for x in t]; print(sum(range(100000)))'; perl -e 'print length("x" x 1e6), "\n"'
mimalloc|libmimalloc2.0|export LD_PRELOAD=libmimalloc.so.2; ls -ld /etc; seq 30000 | sort -n | tail -n 1; python3 -c 'print(sum(range(100000)))'; bash -c 'echo $(echo sub)'
jemalloc|libjemalloc2|export LD_PRELOAD=libjemalloc.so.2; ls -ld /etc; sh -c 'echo $LD_PRELOAD | wc -c; seq 1000 | sort -n | tail -n 1'; python3 -c 'print(sum(range(100000)))'
fakeroot|fakeroot|fakeroot sh -c 'touch f; chown 5:6 f; stat -c "%u %g" f; tar --mtime=@0 -cf - f | tar -tvf - --numeric-owner | cut -d " " -f 2; id -u'; stat -c %u f
faketime|faketime|faketime '2020-01-01 00:00:00' date -u +%Y; faketime -f '-1y' sh -c 'python3 -c "import time; print(time.time() < 2e9)"'; stdbuf -oL seq 3
gstreamer|gstreamer1.0-tools gstreamer1.0-plugins-base|export HOME=$PWD GST_REGISTRY_FORK=no; gst-launch-1.0 -q videotestsrc num-buffers=10 ! video/x-raw,width=64,height=48,format=I420 ! videoconvert ! video/x-raw,format=RGB ! filesink location=v; gst-launch-1.0 -q audiotestsrc num-buffers=10 ! audioconvert ! vorbisenc ! fakesink; gst-inspect-1.0 --version | head -n 1; gst-launch-1.0 -q nowhere; rm -rf .cache
pam|pamtester|pamtester nowhere root authenticate; pamtester soprof-test root authenticate acct_mgmt open_session close_session
imagemagick|imagemagick-6.q16|convert() { convert-im6.q16 "$@"; }; convert -size 60x40 gradient:red-blue -rotate 30 -blur 2 -resize 50% +set date:create +set date:modify +set date:timestamp -strip a.png; identify-im6.q16 -format '%w %h %#\n' a.png; convert a.png -quality 80 a.jpg; convert a.jpg a.gif; convert nowhere.png b.png 2>&1 | sed 's/@.*//'
ffmpeg|ffmpeg|ffmpeg -nostdin -loglevel error -f lavfi -i testsrc=d=1:s=64x48:r=5 -f lavfi -i sine=d=1 -c:v mpeg4 -c:a aac -threads 2 -fflags bitexact -flags bitexact -f matroska o.mkv; ffmpeg -nostdin -loglevel error -i o.mkv -f md5 -; ffprobe -v error -show_entries stream=codec_name -of csv o.mkv; ffmpeg -nostdin -loglevel error -i nowhere o2
ghostscript|ghostscript|printf '%%!PS\n/Helvetica findfont 20 scalefont setfont 20 20 moveto (hello) show 0 1 50 { dup 3 mul 40 add exch moveto 0 20 rlineto stroke } for showpage\n' >a.ps; gs -q -dNOPAUSE -dBATCH -sDEVICE=pgmraw -r30 -sOutputFile=o.pgm a.ps; cksum o.pgm; gs -q -dNOPAUSE -dBATCH -sDEVICE=txtwrite -sOutputFile=- a.ps; echo nonsense | gs -q -dNOPAUSE -dBATCH -sDEVICE=nullpage -
poppler|poppler-utils ghostscript|printf '%%!PS\n/Helvetica findfont 20 scalefont setfont 20 20 moveto (hello) show showpage\n' | gs -q -dNOPAUSE -dBATCH -sDEVICE=pdfwrite -sOutputFile=a.pdf -; pdftotext a.pdf - | head -n 1; pdftoppm -r 20 -gray a.pdf p; cksum p*; pdfinfo a.pdf | grep -e Pages -e size; pdfinfo nowhere; rm a.pdf
qpdf|qpdf ghostscript|printf '%%!PS\n20 20 moveto 90 90 lineto stroke showpage\n' | gs -q -dNOPAUSE -dBATCH -sDEVICE=pdfwrite -sOutputFile=a.pdf -; qpdf --static-id --qdf a.pdf b.pdf; qpdf --check b.pdf | tail -n 1; qpdf --show-npages b.pdf; qpdf nowhere c; rm a.pdf b.pdf
gnuplot|gnuplot-nox|gnuplot-nox -e 'set terminal svg size 200,100; set output "o.svg"; plot sin(x), x**2 / 50'; gnuplot-nox -e 'set terminal dumb 50 12; plot [0:6] cos(x); print besj0(1.5)'; gnuplot-nox -e 'nonsense'
graphviz|graphviz|echo 'digraph { a -> b -> c; a -> c [label=x]; subgraph cluster_x { d; e } e -> a }' >g; for p in dot neato circo; do $p -Tplain g | cksum; done; dot -Txdot g | wc -l; echo 'digraph {' | dot
svn|subversion|svnadmin create r; sed -i 's/.*/00000000-0000-0000-0000-000000000000/' r/db/uuid; svn --non-interactive -q checkout file://$PWD/r w; seq 30 >w/f; svn -q add w/f; svn -q ci -m one w; sed -i s/5/x/ w/f; svn diff w; svn -q ci -m two w; svn log -q w | cut -d '|' -f 1; svn cat -r 1 w/f | cksum; svnadmin verify -q r; svn info nowhere; rm -r r w
hg|mercurial|export HGRCPATH=/dev/null HGUSER=a; hg init r; cd r; seq 30 >f; hg commit -A -d '0 0' -m one; hg log --template '{node}\n'; hg nowhere; cd ..; rm -r r
rsync|rsync|mkdir a; seq 5000 >a/f; cp a/f a/g; touch -d 2020-01-01 a/f a/g; rsync -a a/ b; sed -i 1d a/f; rsync -ai --no-t --checksum a/ b; rsync -a --del --inplace -z a/ b; ls b; rsync nowhere b 2>&1 | sed 's/at .*//'
sox|sox|sox -n -r 8000 -c 1 o.wav synth 0.5 sine 440 fade 0.1; soxi -s o.wav; sox o.wav -t raw - rate 4000 reverse | cksum; sox o.wav -n stat 2>&1 | head -n 3; sox nowhere.wav o2.wav
flac|flac vorbis-tools|for i in $(seq 4000); do printf '\\x%02x\\x%02x' $((i % 256)) $((i / 256)); done | xargs -0 printf >r; flac -s --force-raw-format --endian=little --sign=signed --channels=1 --bps=16 --sample-rate=8000 -o o.flac r; flac -sdc o.flac | cksum; flac -st o.flac; oggenc -Q -r -R 8000 -C 1 -s 1 -o o.ogg r; ogginfo o.ogg | grep -e Rate -e Vendor; flac -s nowhere
webp|webp libtiff-tools netpbm|pbmmake -white 30 20 | ppmtopgm 2>/dev/null | pgmtoppm red-blue 2>/dev/null >a.ppm; cwebp -quiet -q 50 a.ppm -o a.webp; dwebp -quiet a.webp -ppm -o - | cksum; pnmflip -r90 a.ppm | cksum; cwebp -quiet nowhere -o b
librsvg|librsvg2-bin|echo '<svg xmlns="http://www.w3.org/2000/svg" width="50" height="30"><rect width="20" height="9" fill="red"/><circle cx="30" cy="15" r="9"/><path d="M0 0L50 30" stroke="blue"/></svg>' >a.svg; HOME=$PWD rsvg-convert a.svg -o a.png; cksum a.png; echo nonsense | rsvg-convert -o b.png
xslt|xsltproc|echo '<a><b>2</b><b>1</b></a>' >a.xml; echo '<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"><xsl:output method="text"/><xsl:template match="/"><xsl:for-each select="//b"><xsl:sort/><xsl:value-of select=". * 21"/>,</xsl:for-each></xsl:template></xsl:stylesheet>' >a.xsl; xsltproc a.xsl a.xml; xsltproc a.xml a.xml; xsltproc nowhere a.xml
pari|pari-gp|echo 'factor(2^101-1); print(factor(2^67-1)); print(nextprime(10^30)); print(polroots(x^3-2)[1]); 1/0' | gp -q -f
glpk|glpk-utils|printf 'var x >= 0; var y >= 0;\nmaximize z: 3 * x + 2 * y;\ns.t. a: x + y <= 4;\ns.t. b: x + 3 * y <= 6;\nend;\n' >a.mod; glpsol -m a.mod -o o | grep -v -e Time -e Memory -e '^GLPSOL'; grep -e Objective -e '^ *[12]' o
z3|z3|printf '(declare-const x Int)(declare-const y Int)(assert (and (> x 3) (= (+ (* 2 x) (* 3 y)) 17) (> y 0)))(check-sat)(get-model)(assert false)(check-sat)(nonsense)' >a; z3 a
yosys|yosys|printf 'module a(input clk, input [3:0] d, output reg [3:0] q); always @(posedge clk) q <= q + d; endmodule\n' >a.v; yosys -Q -q -p 'read_verilog a.v; synth; tee -o s stat; write_verilog -noattr o.v'; cat s; yosys -Q -q -p nonsense
tmux|tmux|tmux -S s -f /dev/null new -d -x 40 -y 10 'echo in tmux >o; tmux -S s display -p "#{window_width}" >>o'; for i in $(seq 100); do [ -s o ] && ! tmux -S s ls >/dev/null 2>&1 && break; sleep 0.05; done; cat o
expect|expect|expect -c 'spawn -noecho bash --norc -c "read -p ask: x; echo got \$x; exit 4"; expect ask:; send "y\r"; expect eof; puts [lindex [wait] 3]'
socat|socat|socat UNIX-LISTEN:s,fork EXEC:'sed s/a/b/' & up s; echo banana | socat - UNIX-CONNECT:s; echo a | socat - EXEC:cat,pty,raw,echo=0,setsid; ended $!; socat - nowhere 2>&1 | sed 's/^.*socat\[[0-9]*\]//'
tcpdump|tcpdump|printf '\xd4\xc3\xb2\xa1\x02\0\x04\0\0\0\0\0\0\0\0\0\xff\xff\0\0\x01\0\0\0\0\0\0\0\0\0\0\0\x2a\0\0\0\x2a\0\0\0\xff\xff\xff\xff\xff\xff\0\x01\x02\x03\x04\x05\x08\x06\0\x01\x08\0\x06\x04\0\x01\0\x01\x02\x03\x04\x05\xc0\0\x02\x01\0\0\0\0\0\0\xc0\0\x02\x02' >p; tcpdump -n -tt -e -r p 2>&1; tcpdump -d 'tcp port 80' | cksum; tcpdump -r nowhere
nft|nftables iproute2|nft -c add table ip a; nft add table ip a; nft add chain ip a b; nft add rule ip a b tcp dport 80 counter accept; nft list ruleset; nft add rule nonsense; ip -brief link | cut -c 1-20; ip route show table all | sort; ip addr add nonsense dev lo
bwrap|bubblewrap|bwrap --ro-bind / / --dev /dev --proc /proc --unshare-pid --tmpfs /tmp --setenv A b sh -c 'echo $A; ls /tmp | wc -l; exit 4'
aspell|hunspell hunspell-en-us|echo 'a wrold of wordz' | hunspell -d en_US -a | tail -n +2; hunspell -d nowhere x
rrdtool|rrdtool|rrdtool create a.rrd -b 1000000000 -s 10 DS:x:GAUGE:20:0:100 RRA:AVERAGE:0.5:1:50; for i in 1 2 3 4 5; do rrdtool update a.rrd $((1000000000 + 10 * i)):$((i * i)); done; rrdtool fetch a.rrd AVERAGE -s 1000000000 -e 1000000050; rrdtool graph o.svg -a SVG -s 1000000000 -e 1000000050 DEF:x=a.rrd:x:AVERAGE LINE1:x#ff0000 | tail -n 1; rrdtool info nowhere; rm a.rrd
gdbm|gdbmtool db-util|printf 'store a 1\nstore b 2\nlist\nfetch nowhere\n' | gdbmtool -q a.db; printf 'a\n1\nb\n2\n' | db5.3_load -T -t hash b.db; db5.3_dump -p b.db | tail -n 6; db5.3_dump nowhere; rm -f *.db
samba|samba-common-bin|printf '[global]\nworkgroup = A\n[x]\npath = /tmp\n' >c; testparm -s c 2>/dev/null; testparm -s --parameter-name=workgroup c 2>/dev/null; testparm -s nowhere >/dev/null 2>&1; echo $?
7z|p7zip-full lzip pigz brotli|seq 20000 >f; touch -d 2020-01-01 f; 7z a -bd -mmt2 a.7z f >/dev/null; 7z x -so a.7z | cksum; lzip.lzip -c f | lzip.lzip -dc | cksum; pigz -n -p 2 -c f | tee g | pigz -dc | cksum; cksum g; brotli -c f | brotli -dc | cksum; 7z t nowhere | grep -c ERROR
PACKAGES
}

# --- their files ---------------------------------------------------------------------------------------------------
fetch_packages() { # NAME...: with all that they need and that is not installed
	local work new
	work=$(mktemp -d "$unpacked/.work.XXXXXX") || return
	mkdir -p "$world/usr"
	for new in bin sbin lib lib64; do
		mkdir -p "$world/usr/$new"
		[ -e "$world/$new" ] || ln -s "usr/$new" "$world/$new"
	done
	(
		cd "$work" || exit
		apt-get -s --no-install-recommends install "$@" >plan 2>log ||
			{ apt-get update -q >log 2>&1 && apt-get -s --no-install-recommends install "$@" >plan 2>>log; } || exit
		touch "$world/unpacked"
		mapfile -t new < <(sed -n 's/^Inst \([^ ]*\) .*/\1/p' plan | grep -vxF -f "$world/unpacked")
		[ "${#new[@]}" = 0 ] || apt-get download -q "${new[@]}" >log 2>&1 || exit
		for new in *.deb; do
			[ ! -e "$new" ] || dpkg-deb --fsys-tarfile "$new" | tar -x -C "$world" --keep-directory-symlink || exit
			rm -f "$new"
		done
		sed -n 's/^Inst \([^ ]*\) .*/\1/p' plan >"$world/unpacked"
	) || { tail -n 3 "$work/log" >&2; rm -rf "$work"; return 1; }
	rm -rf "$work"
	echo "$*" >"$world/packages"
}
lie_over() { # DIRECTORY...: what is unpacked, and what is written from now on, in memory
	local one
	mount -t tmpfs tmpfs "$dir/over" || return
	for one; do
		mkdir -p "$world/$one" "$dir/over/$one/upper" "$dir/over/$one/work"
		mount -t overlay -o "lowerdir=$world/$one:/$one,upperdir=$dir/over/$one/upper,workdir=$dir/over/$one/work" overlay "/$one" || return
	done
}
unpack_packages() {
	local wanted
	wanted=$(packages | cut -d '|' -f 2 | tr ' ' '\n' | sort -u | paste -sd ' ')
	mkdir -p "$world" "$dir/over"
	# shellcheck disable=SC2086
	[ "$(cat "$world/packages" 2>/dev/null)" = "$wanted" ] || (flock 9 && fetch_packages $wanted) 9<"$unpacked" || return
	lie_over usr etc var/lib || return
	umount -l "$dir/over" # who lies over holds it
	# what the packages' scripts would have done
	for wanted in blas/libblas.so.3 lapack/liblapack.so.3; do
		ln -sf "$wanted" "/usr/lib/x86_64-linux-gnu/${wanted##*/}"
	done
	echo 'sshd:x:65533:65533::/:/bin/false' >>/etc/passwd
	printf 'auth required pam_permit.so\naccount required pam_unix.so\nsession required pam_limits.so\n' >/etc/pam.d/soprof-test
	cp /usr/lib/R/etc/Renviron.ucf /etc/R/Renviron
	/usr/bin/python3 -m compileall -q /usr/lib/python3/dist-packages
	ldconfig
	dot -c
}

# --- for their commands --------------------------------------------------------------------------------------------
up() { # PORT or SOCKET: until a server is there
	local try
	for ((try = 0; try < 600; try++)); do
		case $1 in
		*[!0-9]*) [ ! -S "$1" ] || return ;;
		*) (: <>"/dev/tcp/127.0.0.1/$1") 2>/dev/null && return ;;
		esac
		sleep 0.02
	done
	echo "nobody at $1"
}
ended() { # PROCESS
	kill -TERM "$1" 2>/dev/null
	wait "$1"
	echo "ended $?"
}
get() { curl -s "http://127.0.0.1:$1/$2"; }
export -f up ended get
