# SPDX-License-Identifier: GPL-2.0-or-later
"""Stacks of threads that wait when the sampling begins, or wait and work by turns: how many are complete, with tables on
the disk and without."""
import os
import time
from common import PYTHON, WITHOUT_CACHE, WORK, choose, classes, load, profile, row, run, say, tree

POSTGRES = f"""export PATH=/usr/lib/postgresql/15/bin:$PATH; cd {WORK}
initdb -D d --no-sync -A trust -U a >/dev/null && {{ postgres -D d -F -k $PWD -h '' -c dynamic_shared_memory_type=mmap 2>/dev/null & }}
until pgbench -h $PWD -U a -i -q postgres 2>/dev/null; do sleep 0.3; done
pgbench -h $PWD -U a -c 8 -j 2 -R 200 -T 9999 postgres >/dev/null 2>&1; :"""
NGINX = f"""cd {WORK}; mkdir -p n; echo hello >n/f
printf 'daemon off; pid n.pid; user root; error_log stderr crit; worker_processes 2; events {{}} http {{ access_log off;
    server {{ listen 127.0.0.1:54434; root %s/n; }} }}' $PWD >n.conf
nginx -p $PWD -c $PWD/n.conf & while :; do curl -s http://127.0.0.1:54434/f >/dev/null; sleep 0.05; done; :"""
JAVA = "class Wait { static void f(int n) throws Exception { if (n > 0) f(n - 1); else Thread.sleep(999999); } " \
       "public static void main(String[] a) throws Exception { f(30); } }"
GO = """package main
import ("net"; "net/http"; "sync"; "time")
func main() {
    l, _ := net.Listen("tcp", "127.0.0.1:0")
    go http.Serve(l, nil)
    var m sync.Mutex
    for i := 0; i < 8; i++ {
        go func() { for { m.Lock(); time.Sleep(time.Millisecond); m.Unlock() } }()
    }
    for { if r, e := http.Get("http://" + l.Addr().String()); e == nil { r.Body.Close() }; time.Sleep(20 * time.Millisecond) }
}
"""
ALONE = ["unshare", "--user", "--map-user=1000", "--ipc", "--pid", "--fork", "--kill-child"]
WAITING = {  # and how many processes there are when all have begun
    "python": (1, [PYTHON, "-c", "import threading, time; t = threading.Thread(target=time.sleep, args=(9999,)); "
                                 "t.start(); t.join()"]),
    "bash": (2, ["bash", "-c", "f() { read -r x < <(sleep 9999); }; f; :"]),
    "openssl s_server": (1, ["openssl", "s_server", "-nocert", "-port", "54433"]),
    "postgres, pgbench": (16, [*ALONE, "bash", "-c", POSTGRES]),
    "nginx": (4, ["bash", "-c", NGINX]),
    "java": (1, ["java", os.path.join(WORK, "Wait.java")]),
    "java -Xint": (1, ["java", "-Xint", os.path.join(WORK, "Wait.java")]),
    "go": (1, [os.path.join(WORK, "wait")]),
}


def complete(pids, **how):
    """Per cent, stacks"""
    n = classes(profile("-U", "-e", "offcpu", "-p", ",".join(map(str, pids)), "-o", "/dev/null", "--format", "folded", 3,
                        **how).stderr)
    return 100 * n["complete"] / max(1, n["complete"] + n["guessed"] + n["cut"]), n


def programs_make():
    with open(os.path.join(WORK, "Wait.java"), "w") as f:
        f.write(JAVA)
    with open(os.path.join(WORK, "wait.go"), "w") as f:
        f.write(GO)
    run(["bash", "-c", f"cd {WORK} && HOME=$PWD GO111MODULE=off go build -o wait wait.go"], check=False)


def there(pid, n):
    """The process and those below it that last, once there are so many."""
    for _ in range(60):
        before = tree(pid)
        time.sleep(2)
        last = [p for p in tree(pid) if p in before]
        if len(last) >= n:
            return last
    raise RuntimeError(f"only {len(last)} processes of {n}")


def waiting():
    programs_make()
    for name, (n_processes, command) in WAITING.items():
        try:
            with load(command, settle=3) as pids:
                last = there(pids[0], n_processes)
                cold, n_cold = complete(last, before=WITHOUT_CACHE)
                warm, n_warm = complete(last)
            say(f"{name}: cold {n_cold}, warm {n_warm}")
            row(f"blocked threads complete: {name}", "%", warm, least=99)
            row(f"the same, first profile: {name}", "%", cold, least=99)
        except (RuntimeError, FileNotFoundError) as e:
            say(f"{name}: {e}")


waiting()
